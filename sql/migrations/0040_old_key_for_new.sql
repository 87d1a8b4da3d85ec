-- A new key by the old one: what the old key signed stands beside what the new one did.
alter table identity.key_request add column old_key_id uuid references identity.signing_key (key_id), add column old_signature bytea,
  add constraint key_request_is_replaced_whole check ((old_key_id is null) = (old_signature is null));
comment on column identity.key_request.old_key_id is 'The key of the same principal that this one took the place of; null where the operator decides.';
comment on column identity.key_request.old_signature is 'The signature with which the old key says so.';
comment on table identity.key_request is
  'Public keys that people made in their browsers. The operator accepts them, or the key that they replace: the API server cannot give anybody a key.';

-- Functions whose parameters changed.
drop function if exists identity.fn_key_request(uuid, text, bytea, bytea);
drop function if exists fsm.move(uuid, text, text, text, text, text, text, jsonb, text, text, text, bytea, uuid, bytea, boolean);
drop function if exists fsm.move_signature_problems(text, uuid, text, text, text, text, text, jsonb, text, text, text, jsonb, uuid, bytea);
drop function if exists workflow.act(workflow.work, text, text, text, text, jsonb, text, text, text, bytea[], uuid, bytea);
drop function if exists workflow.call(workflow.work, text, jsonb, jsonb, text, text, text, text, uuid, bytea);
drop function if exists workflow.move_run(uuid, text, text, text, text, text, jsonb, text, text, text, uuid, bytea);
drop function if exists workflow.make_run(uuid, workflow.workflow_version, jsonb, uuid, text, jsonb, text, text, text, text, text, uuid, bytea);
