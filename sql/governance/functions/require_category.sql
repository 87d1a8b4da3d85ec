-- promise: the category exists and the reader may see it.
-- refuses with: RE040 no such category, RI001, RI002, RI040 the reader may not see it
create or replace function governance.require_category(p_reader text, p_category text) returns void
language plpgsql stable
as $$
begin
  perform identity.require_permission(p_reader, 'problems.read');
  if p_category is null or p_category <> all (governance.categories()) then
    perform internal.refuse(internal.problem('RE040', jsonb_build_object('given', left(p_category, 200), 'known', to_jsonb(governance.categories()))));
  end if;
  perform identity.require_permission(p_reader, 'problems.' || p_category);
end
$$;
