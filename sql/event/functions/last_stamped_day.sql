-- owner: chancery_owner
-- promise: the day of the last position of a full partition; null for the one that is being filled.
create or replace function event.last_stamped_day(p_name text) returns date
language plpgsql
as $$
declare
  v_number bigint := substring(p_name from '[0-9]+$')::bigint;
begin
  if (v_number + 1) * 1000000 > (select c.last_position from event.sequencer_cursor c) then
    return null;
  end if;
  return (select (max(p.stamped_at) at time zone 'UTC')::date from event.event_position p
           where p.position >= (v_number + 1) * 1000000 - 1000 and p.position < (v_number + 1) * 1000000);
end
$$;
