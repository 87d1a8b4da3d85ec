-- promise: what was added to, removed from and changed in a list of objects that are known by some of their fields, whatever their order.
create or replace function workflow.list_diff(p_old jsonb, p_new jsonb, p_known_by text[]) returns jsonb
language sql immutable
as $$
  with old as (select o as doc, array(select o ->> k from unnest(p_known_by) k) as id from jsonb_array_elements(coalesce(p_old, '[]')) o),
  new as (select n as doc, array(select n ->> k from unnest(p_known_by) k) as id from jsonb_array_elements(coalesce(p_new, '[]')) n)
  select jsonb_build_object(
    'added', coalesce(jsonb_agg(n.doc order by n.id) filter (where o.id is null), '[]'),
    'removed', coalesce(jsonb_agg(o.doc order by o.id) filter (where n.id is null), '[]'),
    'changed', coalesce(jsonb_agg(jsonb_build_object('id', array_to_string(n.id, ' → '), 'fields', workflow.field_diff(o.doc, n.doc)) order by n.id)
                        filter (where o.doc is distinct from n.doc and o.id is not null and n.id is not null), '[]'))
    from old o full join new n on n.id = o.id
$$;
