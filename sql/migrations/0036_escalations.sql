-- Locks the table of entries for the moment in which the constraint goes.
-- An escalation says that work on an entry is stuck, perhaps because somebody holds its row; to check this reference it waited for that
-- very row. The door asks whether the entry is there, entries are never deleted, and the audit looks at both.
alter table cutter_governance.decision_backlog_entry drop constraint decision_backlog_entry_escalation_of_fkey;
