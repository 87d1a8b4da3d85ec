-- claim: a declared time stands beside itself in seconds, the same instant in any zone; what is no time has none, whatever somebody wrote there.
create function pg_temp.seconds(p_value text) returns text language sql as $$
  select event.with_seconds('{"properties": {"due": {"format": "date-time"}}}', p_value::jsonb) ->> 'due_s'
$$;
select t.equal(pg_temp.seconds('{"due": "2026-03-02T10:00:00+07:00"}'), pg_temp.seconds('{"due": "2026-03-02T03:00:00Z"}'));
select t.equal((pg_temp.seconds('{"due": "2026-03-02T10:00:00+07:00"}')::numeric < pg_temp.seconds('{"due": "2026-03-02T04:00:00+00:00"}')::numeric)::text, 'true');
select t.equal(pg_temp.seconds(v.value), null)
  from (values ('{"due": "2026-03-02"}'), ('{"due": "soon", "due_s": 1}'), ('{"due_s": 99}'), ('{"due": 5, "due_s": 1}'), ('{"due": "2026-13-41T00:00:00Z"}')) v (value);
select t.equal(event.value_problems('{"format": "date-time"}', '"2026-03-02T10:00:00"') #>> '{0,rule}', 'format'),
       t.equal(event.value_problems('{"format": "date-time"}', '"2026-03-02T10:00:00.5+07:00"')::text, '[]');
