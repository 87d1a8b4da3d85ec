-- claim: all ands must be taken, one or is enough, of the others all are decided and, where nothing else leads here, one was taken.
create function pg_temp.way(p_ands text, p_ors text, p_plains text) returns text language plpgsql as $$
declare
  v_step workflow.step_run;
begin
  -- A letter a way: t taken, n not taken, ? not decided yet.
  v_step.and_open := regexp_count(p_ands, '[?]');
  v_step.or_open := regexp_count(p_ors, '[?]');
  v_step.plain_open := regexp_count(p_plains, '[?]');
  v_step.and_missed := p_ands like '%n%';
  v_step.or_taken := p_ors like '%t%';
  v_step.plain_taken := p_plains like '%t%';
  return workflow.way_here(v_step, length(p_ands), length(p_ors), length(p_plains));
end
$$;
select t.equal(pg_temp.way('', '', ''), 'come');
select t.equal(pg_temp.way('', '', '?t'), 'wait'), t.equal(pg_temp.way('', '', 'nt'), 'come'), t.equal(pg_temp.way('', '', 'nn'), 'skip'),
       t.equal(pg_temp.way('', '', 'n?'), 'wait');
select t.equal(pg_temp.way('t?', '', ''), 'wait'), t.equal(pg_temp.way('tt', '', ''), 'come'), t.equal(pg_temp.way('n?', '', ''), 'skip');
select t.equal(pg_temp.way('', 't?', ''), 'come'), t.equal(pg_temp.way('', 'n?', ''), 'wait'), t.equal(pg_temp.way('', 'nn', ''), 'skip');
-- Beside ands and ors the others have to be decided, and that is all.
select t.equal(pg_temp.way('t', '', 'n'), 'come'), t.equal(pg_temp.way('t', '', '?'), 'wait'), t.equal(pg_temp.way('', 't', 'n'), 'come'),
       t.equal(pg_temp.way('', 't', '?'), 'wait'), t.equal(pg_temp.way('n', 't', 't'), 'skip'), t.equal(pg_temp.way('t', 'n', 't'), 'skip'),
       t.equal(pg_temp.way('t', '?', 't'), 'wait'), t.equal(pg_temp.way('t', 't?', 't'), 'come');
