-- What the caller of a move has to bring so that a guard holds: rules look it up to tell a thing to bring from a thing that stands against it.
create table fsm.guard_need (
  guard_name text not null,
  trigger_ref text not null default '*',
  field text,
  vocabulary text,
  approval_kind text references approval.approval_kind (kind),
  description text not null,
  primary key (guard_name, trigger_ref),
  constraint guard_need_of_a_door_brings_nothing check (field is not null or (vocabulary is null and approval_kind is null))
);
comment on table fsm.guard_need is 'Guards that can hold only once a call brought something. A config guard says by its rule what it reads of the evidence and needs no row.';
comment on column fsm.guard_need.trigger_ref is 'The call that it is about; * for every call.';
comment on column fsm.guard_need.field is 'What the caller brings: a member of the evidence, or document for an output. Null where the door itself makes the guard true.';
comment on column fsm.guard_need.vocabulary is 'The values that it may have are the keys vocab.VOCABULARY.… of config.dot_config.';

insert into fsm.guard_need (guard_name, trigger_ref, field, vocabulary, approval_kind, description) values
  ('G-BLOCK-REASON', '*', 'block_reason', 'block_reason', null, 'Why it is blocked.'),
  ('G-CORRECTION-REASON', '*', 'correction_reason', 'correction_reason', null, 'Why it is opened again.'),
  ('G-FACET-VOCAB', '*', 'waits', null, null, 'What is waited for.'),
  ('G-OUTPUT-CONTRACT', '*', 'document', null, null, 'The output.'),
  ('G-POSTCONDITION', '*', 'document', null, null, 'The output, of which the condition is asked.'),
  ('G-APPROVAL', 'step_reopen_for_correction', 'approval_id', null, 'step_reopen', 'The approval of somebody else.'),
  ('G-APPROVAL', 'task_reopen_for_correction', 'approval_id', null, 'step_reopen', 'The approval of somebody else.'),
  ('G-APPROVAL', 'step_cancel', 'approval_id', null, 'step_cancel', 'The approval of somebody else.'),
  ('G-APPROVAL', 'task_cancel', 'approval_id', null, 'step_cancel', 'The approval of somebody else.'),
  ('G-APPROVAL', 'workflow_cancel', 'approval_id', null, 'workflow_cancel', 'The approval of somebody else.'),
  ('G-LATE-COMPLETION', '*', null, null, null, 'How late it was is written down by the door that completes it.'),
  ('G-PRIOR-AUDIT', '*', null, null, null, 'The first ending is written down by the door that opens it again.'),
  ('G-OUTPUT-SNAPSHOT', '*', null, null, null, 'The first output is kept by the door that opens it again.'),
  ('G-DIGEST-PINNED', '*', null, null, null, 'The digest is of what is there already; whoever hands it in signs it.'),
  ('G-MERGE', '*', null, null, null, 'The door that merges uses the approval and makes the version.');
