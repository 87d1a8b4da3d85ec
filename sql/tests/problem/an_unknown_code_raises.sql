-- claim: a code without words raises: a problem that vanished would be a move allowed.
select t.refused('P0002', $$select internal.problem('RS999', '{}')$$);
select t.refused('P0002', $$select internal.problem(null, '{}')$$);
