-- promise: at COMMIT a row that was inserted is born: it stands in the registry. (That it is still there: birth.refuse_vanished.)
-- callers: the trigger functions of the families, from their constraint trigger, where the code itself has no birth on record. (A birth's
--          permit is finalized by then, or the transaction does not commit: that is the permit's own constraint.)
-- refuses with: RB008 half a birth
create or replace function birth.assert_born(p_collection text, p_code text) returns void
language plpgsql
as $$
begin
  -- Older than its family's protection, and only moved; or without a code, or with one that is too long, where that is only reported.
  if p_code is not null
     and exists (select from birth.family f where f.collection_name = p_collection and f.active)
     and not exists (select from birth.birth_registry b where b.entity_code = birth.short_code(p_code) and b.collection_name = p_collection)
     and not exists (
       select from birth.departure d
        where d.collection_name = p_collection and d.entity_code = birth.short_code(p_code) and d.xid = pg_current_xact_id()) then
    perform internal.refuse(internal.problem('RB008', jsonb_build_object('collection', p_collection, 'entity_code', p_code)));
  end if;
end
$$;
