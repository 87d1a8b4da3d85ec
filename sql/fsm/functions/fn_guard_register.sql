-- promise: a predicate guard that machines may name. The function reads and nothing else: STABLE, with a pinned search
--          path, owned by the role that has SELECT only.
-- callers: the migrator, from the migrations of the room that owns the guard
-- refuses with: RS022
create or replace function fsm.fn_guard_register(p_name text, p_predicate_fn text, p_reads text[], p_description text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_proc pg_proc;
begin
  select p.* into v_proc from pg_proc p where p.oid = to_regprocedure(p_predicate_fn || '(jsonb)');
  if v_proc.oid is null or v_proc.provolatile <> 's' or not v_proc.prosecdef or v_proc.prorettype <> 'boolean'::regtype
     or v_proc.proowner <> 'chancery_guard'::regrole
     or not exists (select from unnest(v_proc.proconfig) c where c like 'search_path=%pg_temp')
     or exists (select from unnest(p_reads) r where r not in ('parent', 'children', 'history')
                   and not exists (select from fsm.lock_target_def t where t.target = r)) then
    perform internal.refuse(internal.problem('RS022', jsonb_build_object(
      'guard', p_name, 'function', p_predicate_fn, 'found', v_proc.oid is not null, 'reads', to_jsonb(p_reads))));
  end if;
  insert into fsm.guard_def (guard_id, guard_name, guard_kind, predicate_fn, reads, description, registered_at)
  values (p_name, p_name, 'predicate_fn', p_predicate_fn, p_reads, p_description, internal.now())
  on conflict (guard_id) do update
    set predicate_fn = excluded.predicate_fn, reads = excluded.reads, description = excluded.description;
  perform internal.generate_dispatchers();
  perform fsm.compile_transitions();
end
$$;
