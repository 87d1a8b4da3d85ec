-- claim: a proposal has an id, a title, a kind of the vocabulary, an action, units that there are and what it rests on; what is missing first is named, and
--        nothing is stored.
select identity.fn_principal_add('kg', 'service', '{executor_worker}');
create function pg_temp.lacks(p_title text, p_kind text, p_units uuid[], p_action jsonb, p_usage jsonb) returns text language plpgsql as $$
declare
  v_detail text;
begin
  perform governance.fn_proposal_create('0199a3f0-0000-7000-8000-000000000001', p_kind, 'agent', p_title, p_units, p_action, p_usage, '{}', 'kg', 'executor_worker', 'k');
  return 'nothing';
exception when sqlstate 'RW021' then
  get stacked diagnostics v_detail = pg_exception_detail;
  return v_detail::jsonb #>> '{problems,0,expected}';
end
$$;
set local session authorization chancery_app;
select t.equal(pg_temp.lacks(' ', 'kg_edge', '{}', '{}', '[{"kind": "seen", "facts": {}}]'), 'an id and a title'),
       t.equal(pg_temp.lacks('An edge', 'kg_node', '{}', '{}', '[{"kind": "seen", "facts": {}}]'), 'a kind of the vocabulary'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', '{}', '[]', '[{"kind": "seen", "facts": {}}]'), 'an action: an object of at most 65536 bytes'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', '{}', jsonb_build_object('x', repeat('a', 70000)), '[{"kind": "seen", "facts": {}}]'), 'an action: an object of at most 65536 bytes'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', array['0199a3f0-0000-7000-8000-00000000000f'::uuid], '{}', '[{"kind": "seen", "facts": {}}]'), 'units that there are'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', '{}', '{}', '[]'), 'evidence: a list of {kind, facts, iu_id}, not empty'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', '{}', '{}', '[{"kind": "seen"}]'), 'evidence: a list of {kind, facts, iu_id}, not empty'),
       t.equal(pg_temp.lacks('An edge', 'kg_edge', '{}', '{}', '[{"kind": "seen", "facts": {}, "iu_id": "x"}]'), 'evidence: a list of {kind, facts, iu_id}, not empty');
reset session authorization;
select t.equal(count(*)::text, '0') from governance.proposal;
select t.equal(count(*)::text, '0') from governance.iu_usage_evidence;
