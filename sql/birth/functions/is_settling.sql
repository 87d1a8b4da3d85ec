-- promise: true while a login that is none of ours writes log rows through us: birth.settle, inside a trigger of this transaction; or a
--          rehearsal, which cannot be committed. (The setting is a courtesy, as every marker; the wall is that nobody but our functions
--          has the right to write there.)
-- callers: internal.refuse_other_logins
create or replace function birth.is_settling() returns boolean
language sql stable
as $$
  select pg_trigger_depth() > 1 and current_setting('chancery.settling', true) = pg_current_xact_id_if_assigned()::text
      or exists (select from birth.rehearsal r where r.xid = pg_current_xact_id_if_assigned())
$$;
