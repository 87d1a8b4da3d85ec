-- claim: units cover the source byte by byte, or the first one that does not is named.
create function pg_temp.unit(p_id text, p_start integer, p_end integer) returns jsonb language sql as $$
  select jsonb_build_object('local_id', p_id, 'address', 'POL/' || p_id, 'start', p_start, 'end', p_end, 'section_type', 'heading', 'title', 'T',
                            'parent', null, 'sha256', encode(sha256(substring(convert_to('đất nước', 'UTF8') from p_start + 1 for p_end - p_start)), 'hex'))
$$;
create function pg_temp.reason(variadic p_units jsonb[]) returns text language sql as $$
  select cutter_governance.manifest_problem(
           jsonb_build_object('profile', 'markdown', 'unit_kind', 'law_unit', 'publication_type', 'law', 'units', to_jsonb(p_units)),
           convert_to('đất nước', 'UTF8'), 'POL', 3) ->> 'reason'
$$;
-- 14 bytes: offsets count bytes, not characters.
select t.equal(octet_length(convert_to('đất nước', 'UTF8'))::text, '14');
select t.equal(pg_temp.reason(pg_temp.unit('a', 0, 14)), null), t.equal(pg_temp.reason(pg_temp.unit('a', 0, 7), pg_temp.unit('b', 7, 14)), null);
select t.equal(pg_temp.reason(pg_temp.unit('a', 0, 8)), 'source_not_covered'), t.equal(pg_temp.reason(pg_temp.unit('a', 1, 14)), 'gap_or_overlap'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 7), pg_temp.unit('b', 6, 14)), 'gap_or_overlap'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 7), pg_temp.unit('b', 8, 14)), 'gap_or_overlap'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 0), pg_temp.unit('b', 0, 14)), 'span'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 7), pg_temp.unit('a', 7, 14)), 'local_id'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 15)), 'span'),
       t.equal(pg_temp.reason(pg_temp.unit('a', 0, 1), pg_temp.unit('b', 1, 2), pg_temp.unit('c', 2, 3), pg_temp.unit('d', 3, 14)), 'number_of_units');
