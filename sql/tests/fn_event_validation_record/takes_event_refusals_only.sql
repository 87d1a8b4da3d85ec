-- claim: only a refused event can be put on this record.
select t.refused('RE004', $$select event.fn_event_validation_record('parcel.packed', 'RS004', '{}')$$);
select t.refused('RE004', $$select event.fn_event_validation_record('parcel.packed', null, '{}')$$);
select t.refused('RE004', $$select event.fn_event_validation_record(null, 'RE001', '{}')$$);
select event.fn_event_validation_record('parcel.stolen', 'RE001', null);
select t.equal(string_agg(a.event_type || ' ' || a.code || ' ' || a.facts || ' ' || (a.login_role = session_user), ';'), 'parcel.stolen RE001 {} true')
  from event.event_validation_audit a;
