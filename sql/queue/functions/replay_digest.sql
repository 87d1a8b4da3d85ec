-- promise: what an approval of a batch of replays binds: all its requests as they were made.
create or replace function queue.replay_digest(p_batch_id uuid) returns bytea
language sql stable
as $$ select internal.artefact_digest(array_agg(r.row_digest)) from queue.dlq_replay_request r where r.batch_id = p_batch_id $$;
