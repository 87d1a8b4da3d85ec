-- Codes of several columns, codes drawn from a sequence, partitions that came with rows, and who leads a relay.

-- The columns of a code, as a list with commas. A name holds 63 bytes, a list of them does not fit into one.
drop view if exists birth.v_family;
alter table birth.family alter column code_column type text using code_column::text;
alter table birth.family add constraint family_code_has_columns check (code_column ~ '^[^,]+(,[^,]+)*$');
comment on column birth.family.code_column is 'The column that names the object; or several, with commas between them, which name it together.';

-- Ids that a sequence gave out for permits: the same request again finds the ids it got.
create table birth.drawn_codes (
  batch_id uuid primary key,
  collection_name text not null,
  codes text[] not null,
  drawn_by text not null references identity.principal (name),
  drawn_at timestamptz not null
);
create index drawn_codes_age_idx on birth.drawn_codes (drawn_at);
comment on table birth.drawn_codes is 'Ids that were drawn from the sequence of a code column, by the batch of permits they were drawn for. Swept after a week.';

-- The partitions that a family had when somebody protected it, or that the watchdog has looked at since.
create table birth.family_part (
  collection_name text not null references birth.family (collection_name),
  relation oid not null,
  seen_at timestamptz not null,
  came_with_rows boolean not null,
  primary key (collection_name, relation)
);
comment on table birth.family_part is 'Partitions of protected tables that are known.';
comment on column birth.family_part.came_with_rows is
  'It was a table before it became a partition, and was not empty when it was first seen: its rows met no gate. Protecting the table again accepts them.';

-- A relay leads by a lease of its consumer. A lock of the session belonged to nobody: any login could take its key, and no relay worked.
alter table event.event_consumer add column lead_holder text;
alter table event.event_consumer add column lead_until timestamptz;
alter table event.event_consumer add constraint event_consumer_lead_is_whole check ((lead_holder is null) = (lead_until is null));
comment on column event.event_consumer.lead_holder is 'The process that hands on under this name, or did last.';

update config.dot_config set value = value || '["birth.drawn_codes", "birth.family_part"]' where key = 'orchestrator.backup.tables';
