-- claim: the same words again are no change, another schema under the same name is refused.
select event.fn_event_type_register('{"type": "parcel.packed", "stream": "update", "lane": "immediate", "description": "other words",
  "schema": {"type": "object", "properties": {"weight": {"type": "number", "minimum": 0}}}}');
select t.equal(e.description, 'Somebody packed it.') from event.event_type_registry e where e.event_type = 'parcel.packed';
select t.refused('RE005', $$select event.fn_event_type_register('{"type": "parcel.packed", "stream": "update", "lane": "immediate", "description": "d"}')$$);
select t.refused('RE003', $$select event.fn_event_type_register('{"type": "parcel.lost", "stream": "update", "lane": "immediate", "description": "d", "schema": {"$ref": "#"}}')$$);
