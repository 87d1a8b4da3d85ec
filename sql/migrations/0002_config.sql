create table config.dot_config (
  key text primary key,
  value jsonb not null,
  description text not null,
  constraint dot_config_key_is_dotted check (key ~ '^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_-]+)+$')
);
comment on table config.dot_config is 'Settings and vocabularies that rules read. A rule never stands in code.';

create table config.message (
  message_key text not null,
  locale text not null,
  text text not null,
  primary key (message_key, locale),
  constraint message_locale_is_a_language check (locale ~ '^[a-z]{2}(-[A-Z]{2})?$'),
  constraint message_text_is_not_blank check (btrim(text) <> '')
);
comment on table config.message is 'Texts that people read, by key and language.';

create table config.refusal (
  code text primary key,
  problem text not null unique,
  title text not null,
  hint text not null,
  constraint refusal_code_is_ours check (code ~ '^R[SCOBWAEI][0-9]{3}$' and code !~ '000$')
);
comment on table config.refusal is 'Every refusal the database can give: SQLSTATE, name, and what to do. One page each in docs/errors.';

insert into config.dot_config (key, value, description) values
  ('identity.signature_required.human', 'true', 'A person''s move carries a signature made with the person''s own key.'),
  ('identity.signature_required.agent', 'true', 'An agent''s move carries a signature made with the agent''s own key.'),
  ('event.payload.max_bytes', '16384', 'A payload carries references, so it is small.'),
  ('event.payload.denied_keys', '["body","content","raw","vector","embedding","secret","token","password","ssn","personal_data"]',
   'Keys that never stand in a payload, at any depth: events carry references, never bodies or secrets.'),
  ('fsm.evidence.max_bytes', '65536', 'Evidence names artefacts; it does not contain them.');
