-- promise: equal for reports of the same problem: its type and what it is about, or, when it is about nothing in particular, who
--          says it and its title. Length-prefixed, so no two lists of fields give the same bytes.
create or replace function governance.fingerprint(p_issue_type text, p_entity_type text, p_entity_code text, p_source text, p_title text) returns bytea
language sql immutable
as $$
  select sha256(convert_to(
    (select string_agg(coalesce(octet_length(f.field), -1) || ':' || coalesce(f.field, ''), '' order by f.n)
       from unnest(array[p_issue_type, p_entity_type, p_entity_code,
                         case when p_entity_code is null then p_source end, case when p_entity_code is null then p_title end])
            with ordinality f (field, n)), 'UTF8'))
$$;
