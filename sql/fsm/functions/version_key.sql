-- promise: a text that sorts, by its bytes (COLLATE "C"), as the semantic version does (semver.org, 11): by number, a version before its release before the release, and
--          what was built from it counts for nothing. Null for what is no version.
create or replace function fsm.version_key(p_version text) returns text
language sql immutable strict
as $$
  select string_agg(internal.sortable_number(n.digits), '.' order by n.place) || ',' || coalesce((
           select string_agg(case when i.word ~ '^\d+$' then '0' || internal.sortable_number(i.word) else '1' || i.word end, E'\x01' order by i.place)
             from string_to_table(v.part[2], '.') with ordinality i (word, place)), '2')
    from regexp_match(p_version, '^([0-9]+[.][0-9]+[.][0-9]+)(?:-([0-9A-Za-z.-]+))?(?:[+][0-9A-Za-z.-]+)?$') v (part)
    cross join lateral string_to_table(v.part[1], '.') with ordinality n (digits, place)
   group by v.part
$$;
