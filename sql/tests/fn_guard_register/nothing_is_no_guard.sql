-- claim: a guard is a function that is there, fit, and reads what can be locked.
select t.refused('RS022', $$select fsm.fn_guard_register('G-NONE', 'fsm.unheard_of', '{}', 'd')$$);
select t.refused('RS022', $$select fsm.fn_guard_register('G-NONE', null, '{}', 'd')$$);
select t.refused('RS022', $$select fsm.fn_guard_register('G-NONE', 'fsm.fn_run_start', '{}', 'd')$$);
