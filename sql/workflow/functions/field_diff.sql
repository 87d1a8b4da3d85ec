-- promise: the fields in which two objects differ, each with its old and its new value.
create or replace function workflow.field_diff(p_old jsonb, p_new jsonb) returns jsonb
language sql immutable
as $$
  select coalesce(jsonb_agg(jsonb_build_object('field', coalesce(o.key, n.key), 'old', o.value, 'new', n.value) order by coalesce(o.key, n.key)), '[]')
    from jsonb_each(p_old) o full join jsonb_each(p_new) n on n.key = o.key where o.value is distinct from n.value
$$;
