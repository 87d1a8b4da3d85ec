-- promise: what is wrong with what a worker says about itself; null when nothing is.
create or replace function queue.worker_problems(p_worker_class text, p_worker text, p_executor_kind text, p_metadata jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_max_bytes integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'heartbeat.metadata.max_bytes');
  v_denied jsonb;
  v_field text;
  v_expected text;
begin
  select f.field, f.expected into v_field, v_expected
    from (values
      (1, 'worker_class', 'a word in lower case', p_worker_class ~ '^[a-z][a-z0-9_]{0,62}$'),
      (2, 'worker', 'a name of at most 200 bytes', not internal.is_blank(p_worker) and octet_length(p_worker) <= 200),
      (3, 'executor_kind', 'a kind of executor', p_executor_kind in
         ('DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter')),
      (4, 'metadata', format('an object of at most %s bytes', v_max_bytes),
         jsonb_typeof(p_metadata) = 'object' and octet_length(p_metadata::text) <= v_max_bytes)
    ) f (n, field, expected, fits)
   where f.fits is not true
   order by f.n limit 1;
  if found then
    return internal.problem('RE022', jsonb_build_object('field', v_field, 'expected', v_expected));
  end if;
  v_denied := event.denied_keys(p_metadata);
  if v_denied is not null then
    return internal.problem('RE022', jsonb_build_object('field', 'metadata', 'expected', 'references, no contents or secrets', 'keys', v_denied));
  end if;
  return null;
end
$$;
