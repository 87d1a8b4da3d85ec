-- promise: true when who made the summary is less sure than the setting of its category asks for. Rules and functions are not unsure.
create or replace function governance.is_low_confidence(p_put jsonb) returns boolean
language sql stable
as $$
  select coalesce((p_put ->> 'confidence')::numeric < coalesce(
    (select (c.value #>> '{}')::numeric from config.dot_config c
      where c.key in ('ai_summary.min_confidence.' || (p_put ->> 'category'), 'ai_summary.min_confidence.default') and jsonb_typeof(c.value) = 'number'
      order by c.key = 'ai_summary.min_confidence.default' limit 1), 0.6), false)
$$;
