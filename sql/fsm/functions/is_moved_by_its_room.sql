-- promise: whether runs of this kind move through the doors of their room only: their moves come with artefacts, and a move
--          without them would say that something was done which was not.
create or replace function fsm.is_moved_by_its_room(p_run_kind text) returns boolean
language sql stable
as $$ select exists (select from fsm.run_kind_def k where k.run_kind = p_run_kind and k.moved_by_its_room) $$;
