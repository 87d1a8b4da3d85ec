-- Locks the tables of entries and of changes for the moment in which the indexes are made.
-- The heads of pages count what is open; what is over is most of it.
create index entry_open_idx on cutter_governance.decision_backlog_entry (emitted_at)
  where status not in ('verified_complete', 'reviewed_rejected', 'abandoned');
create index change_request_open_idx on workflow.workflow_change_requests (workflow, created_at) where proposal_state in ('submitted', 'review');
