-- What a permission opens, as the calls of machines: who may call them is in the machines' rows, and nowhere else.
create table identity.permission_source (
  permission text not null references identity.permission (permission),
  scope text not null,
  trigger_refs text[] not null default '{}',
  primary key (permission, scope)
);
comment on table identity.permission_source is
  'Permissions that follow from machines: a class holds one while a machine of the scope has a transition for it by one of the calls; by any where none is named.';
insert into identity.permission (permission, description) values ('queue.enqueue', 'put jobs into the queue');
insert into identity.permission_source (permission, scope, trigger_refs) values
  ('run.move', 'custom', '{}'),
  -- Whoever moves runs sees them.
  ('run.read', 'custom', '{}'),
  ('work.move', 'step', '{}'),
  ('work.move', 'task', '{}'),
  ('workflow.run', 'workflow_run', '{workflow_create,workflow_pause,workflow_resume,workflow_cancel}'),
  ('workflow.propose', 'proposal', '{propose,submit,withdraw,merge}'),
  ('entry.move', 'cut_request', '{mark,abandon}'),
  ('orchestrator.stop', 'orchestrator_run', '{orchestrate_stop}'),
  ('birth.request', 'birth_permit', '{permit_request}'),
  ('birth.revoke', 'birth_permit', '{permit_revoke}'),
  ('queue.enqueue', 'job', '{job_enqueue}'),
  ('queue.work', 'job', '{job_claim,job_extend,job_release,job_ack}'),
  ('queue.replay', 'job', '{job_cancel,job_dismiss}'),
  ('queue.replay', 'dlq_replay', '{dlq_replay_propose,dlq_replay_withdraw}'),
  ('problems.settle', 'finding', '{issue_acknowledge,issue_resolve}');
-- Every request asks what somebody may, so the answer of the machines is kept, as the compiled columns of transitions are.
create table identity.machine_permission (
  actor_class text not null references identity.actor_class (code),
  permission text not null references identity.permission (permission),
  primary key (actor_class, permission)
);
comment on table identity.machine_permission is
  'Compiled by fsm.compile_transitions: what identity.permission_source and the transitions behind the login of the server come to.';
insert into audit.rule_table (table_name, key_columns, by_hand) values
  ('identity.permission_source', '{permission,scope}', false),
  ('identity.machine_permission', '{actor_class,permission}', false);
comment on table identity.class_permission is
  'Permissions that no machine gives: to read, to vote, to write documents. Those that machines give follow from identity.permission_source.';

-- Who works could put jobs into the queue as well until now: tokens keep what they have.
update identity.api_token set scopes = scopes || '{queue.enqueue}'::text[] where 'queue.work' = any (scopes) and revoked_at is null;
-- What was kept beside the machines. A sovereign answers what steps wait for and comments on them, but moves none.
delete from identity.class_permission c
 where exists (select from identity.permission_source s where s.permission = c.permission)
   and c.permission <> 'run.read' and (c.actor_class, c.permission) <> ('sovereign', 'work.move');

-- A door gets a parameter: whether a version older than the active one may become active.
drop function if exists fsm.fn_machine_apply(jsonb, text, text, boolean);

-- The silhouettes that pages draw, and the one that stands for a colour where colours are not seen.
create table config.silhouette (
  icon text primary key,
  constraint silhouette_is_an_icon check (icon ~ '^icon\.[a-z][a-z0-9_]*$')
);
comment on table config.silhouette is 'The silhouettes that a machine may name. The pages have an outline for each.';
insert into config.silhouette (icon) values
  ('icon.circle_hollow'), ('icon.play_outline'), ('icon.play_filled'), ('icon.hourglass'), ('icon.warn_filled'), ('icon.warn_outline'),
  ('icon.clock_alert'), ('icon.clock_rewind'), ('icon.calendar_clock'), ('icon.timer_off'), ('icon.cross_filled'), ('icon.stop_filled'),
  ('icon.stop_outline'), ('icon.hand_filled'), ('icon.check_filled'), ('icon.cancel_filled'), ('icon.pause_filled'), ('icon.archive'),
  ('icon.arrow_back'), ('icon.bookmark'), ('icon.box_empty'), ('icon.bug'), ('icon.clipboard_check'), ('icon.eye'), ('icon.gavel'),
  ('icon.globe'), ('icon.grid_check'), ('icon.key'), ('icon.ledger'), ('icon.link'), ('icon.magnifier'), ('icon.mail'), ('icon.pin'),
  ('icon.scissors_filled'), ('icon.scissors_outline'), ('icon.seal_filled'), ('icon.seal_outline'), ('icon.thumb_up'), ('icon.ticket'),
  ('icon.ticket_punched'), ('icon.truck'), ('icon.user'), ('icon.waves');

create table config.colour (
  colour text primary key,
  shape text not null unique references config.silhouette (icon)
);
comment on table config.colour is
  'The colours that a machine may name, each with a shape of its own. config.palette has each of them in every theme; a transaction that leaves one out is refused.';
insert into config.colour (colour, shape)
select 'ui.traffic_light.' || c.colour, 'icon.' || c.shape
  from (values ('gray', 'circle_hollow'), ('green_pale', 'play_outline'), ('green', 'play_filled'), ('yellow', 'hourglass'), ('yellow_dark', 'warn_filled'),
               ('red_pale', 'clock_alert'), ('red', 'cross_filled'), ('red_dark', 'stop_filled'), ('green_deep', 'check_filled')) c (colour, shape);
comment on table config.palette is 'What a colour of the machines is, in each theme: fill, text on it, border.';
