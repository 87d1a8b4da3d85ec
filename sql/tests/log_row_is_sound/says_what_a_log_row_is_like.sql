-- claim: rows of the log count from one, the first has none before it and every other has, a digest has 32 bytes, a signature has its key.
select t.equal(fsm.log_row_is_sound(r.seq, r.prev::bytea, decode(r.digest, 'hex'), r.key::uuid, r.signature::bytea)::text, r.sound)
  from (values (1, null, null, null, null, 'true'), (2, 'h', null, null, null, 'true'), (2, 'h', repeat('ab', 32), null, null, 'true'),
               (2, 'h', null, '00000000-0000-0000-0000-000000000001', 's', 'true'),
               (0, 'h', null, null, null, 'false'), (-1, 'h', null, null, null, 'false'), (1, 'h', null, null, null, 'false'),
               (2, null, null, null, null, 'false'), (2, 'h', repeat('ab', 31), null, null, 'false'), (2, 'h', '', null, null, 'false'),
               (2, 'h', null, '00000000-0000-0000-0000-000000000001', null, 'false'), (2, 'h', null, null, 's', 'false')
       ) r (seq, prev, digest, key, signature, sound);
-- claim: the table asks it.
select t.equal(count(*)::text, '2') from pg_constraint c
 where (c.conrelid, c.conname) in (('fsm.transition_log'::regclass, 'log_row_is_sound'), ('fsm.run'::regclass, 'run_is_sound')) and c.convalidated;
