create table identity.actor_class (
  code text primary key,
  description text not null
);
comment on table identity.actor_class is 'Who can act, by duty. A transition row names exactly one of these.';

insert into identity.actor_class (code, description) values
  ('system', 'the product itself: timers, resolved conditions'),
  ('pic_human', 'the person in charge of a step or of a run'),
  ('task_pic_human', 'the person in charge of one task'),
  ('reviewer', 'a person who decides on other people''s work'),
  ('executor_worker', 'a worker that does automated work'),
  ('mow_orchestrator', 'the loop that drives workflows'),
  ('escalation_handler', 'a person or service that takes what could not be done'),
  ('sovereign', 'the human authority at the sovereign gates'),
  ('review_authority', 'the authority that reviews cut requests'),
  ('executor_dot991', 'the executor of cuts, signing in lane DOT-991'),
  ('verifier_dot992', 'the independent verifier of cuts, signing in lane DOT-992'),
  ('observer', 'reads, never moves anything');

create table identity.login_actor_class (
  login_role text not null,
  actor_class text not null references identity.actor_class (code),
  primary key (login_role, actor_class)
);
comment on table identity.login_actor_class is
  'Which database login may act for which class. Separation of duty stands here, where a taken-over service cannot reach it.';

-- chancery_app acts for people, agents and the loops, and can never cut, verify or review.
insert into identity.login_actor_class (login_role, actor_class)
select 'chancery_app', code from identity.actor_class
 where code not in ('executor_dot991', 'verifier_dot992', 'review_authority', 'observer')
union all values ('cutter_exec', 'executor_dot991'), ('cutter_verify', 'verifier_dot992'), ('cutter_review', 'review_authority');

create table identity.principal (
  name text primary key,
  kind text not null,
  active boolean not null default true,
  actor_classes text[] not null default '{}',
  created_at timestamptz not null,
  constraint principal_name_is_plain check (name ~ '^[a-z][a-z0-9._-]{0,62}$'),
  constraint principal_kind_is_known check (kind in ('human', 'agent', 'service'))
);
comment on table identity.principal is 'A human, agent or service that can be held to what it did.';
comment on column identity.principal.name is 'The identity itself: never renamed, never reused, so that evidence reads without a look-up.';

comment on column identity.principal.actor_classes is 'Codes of actor_class, checked by the door: one array, because every move of every run reads it.';

create table identity.signing_key (
  key_id uuid primary key,
  principal text not null references identity.principal (name),
  public_key bytea not null,
  registered_at timestamptz not null,
  supersedes uuid references identity.signing_key (key_id),
  revoked_at timestamptz,
  revoke_reason text,
  -- One key never stands for two principals, not even after it was revoked.
  constraint signing_key_belongs_to_one_principal unique (public_key),
  constraint signing_key_is_ed25519_sized check (octet_length(public_key) = 32),
  constraint signing_key_revoked_with_reason check ((revoked_at is null) = (revoke_reason is null))
);
create index signing_key_of_principal_idx on identity.signing_key (principal);
comment on table identity.signing_key is 'Public keys. Private keys never enter the database.';

create table identity.identity_log (
  identity_log_id bigint generated always as identity primary key,
  at timestamptz not null,
  login_role text not null,
  acted_by text,
  action text not null,
  principal text not null references identity.principal (name),
  facts jsonb not null
);
comment on table identity.identity_log is 'Append-only record of every change to principals, classes and keys.';
