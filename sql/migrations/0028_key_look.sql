-- Every move asks whether its key was used in its run before. There are two indexes that begin with the run; while statistics say that
-- a run has one row in the log, as they do when many runs were just born, the planner takes the primary key, and each move then reads
-- the whole history of its run. It is told that a run has twenty. (Heeded by the next ANALYZE; before the first, the planner assumes more.)
alter table fsm.transition_log alter column run_id set (n_distinct = -0.05);
