-- promise: the first thing that keeps a plan from being a partition of its source into addressable units, as facts; null when
--          nothing does.
create or replace function cutter_governance.manifest_problem(p_manifest jsonb, p_body bytea, p_prefix text, p_max_units integer) returns jsonb
language plpgsql stable
as $$
declare
  v_units integer := case when jsonb_typeof(p_manifest -> 'units') = 'array' then jsonb_array_length(p_manifest -> 'units') else 0 end;
  v_bad record;
begin
  if v_units < 1 or v_units > p_max_units then
    return jsonb_build_object('reason', 'number_of_units', 'units', v_units, 'max', p_max_units);
  elsif internal.is_blank(p_manifest ->> 'profile') then
    return '{"reason": "profile"}';
  elsif not coalesce(iu.is_in_vocabulary('unit_kind', p_manifest ->> 'unit_kind'), false) then
    return jsonb_build_object('reason', 'unit_kind', 'given', p_manifest -> 'unit_kind');
  elsif not coalesce(iu.is_in_vocabulary('publication_type', p_manifest ->> 'publication_type'), false) then
    return jsonb_build_object('reason', 'publication_type', 'given', p_manifest -> 'publication_type');
  end if;
  with unit as (
    select u.n, u.value ->> 'local_id' as local_id, u.value ->> 'address' as address, u.value ->> 'sha256' as sha256,
           u.value ->> 'section_type' as section_type, u.value ->> 'title' as title, u.value ->> 'parent' as parent,
           case when u.value ->> 'start' ~ '^[0-9]{1,9}$' then (u.value ->> 'start')::integer end as span_start,
           case when u.value ->> 'end' ~ '^[0-9]{1,9}$' then (u.value ->> 'end')::integer end as span_end
      from jsonb_array_elements(p_manifest -> 'units') with ordinality u (value, n)),
  neighbour as (
    select u.*, lag(u.span_end, 1, 0) over w as expected_start, row_number() over (partition by u.address order by u.n) as address_use,
           row_number() over (partition by u.local_id order by u.n) as local_use
      from unit u window w as (order by u.n)),
  judged as (
    select u.n, u.local_id, u.address, u.span_start, u.span_end, u.expected_start,
           case
             when u.span_start is distinct from u.expected_start then 'gap_or_overlap'
             when u.span_end is null or u.span_end <= u.span_start or u.span_end > octet_length(p_body) then 'span'
             when u.n = v_units and u.span_end <> octet_length(p_body) then 'source_not_covered'
             when u.sha256 is distinct from encode(sha256(substring(p_body from u.span_start + 1 for u.span_end - u.span_start)), 'hex') then 'region_sha'
             when u.local_id is null or u.local_use > 1 then 'local_id'
             when u.address is null or not starts_with(u.address, p_prefix || '/') or u.address !~ '^[A-Z][A-Z0-9-]{1,31}/[a-z0-9._-]+$' then 'address'
             when u.address_use > 1 then 'address_twice'
             when not coalesce(iu.is_in_vocabulary('section_type', u.section_type), false) then 'section_type'
             when internal.is_blank(u.title) then 'title'
             when u.parent is not null and coalesce(p.n, u.n) >= u.n then 'parent'
           end as reason
      from neighbour u left join (select distinct on (local_id) local_id, n from unit order by local_id, n) p on p.local_id = u.parent)
  select j.* into v_bad from judged j where j.reason is not null order by j.n limit 1;
  if found then
    return jsonb_build_object('reason', v_bad.reason, 'unit', v_bad.n, 'local_id', v_bad.local_id, 'address', v_bad.address,
                              'start', v_bad.span_start, 'end', v_bad.span_end, 'expected_start', v_bad.expected_start);
  end if;
  return null;
end
$$;
