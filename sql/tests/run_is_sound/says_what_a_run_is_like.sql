-- claim: a run has a hash from its birth on, data that is an object, and a trace id as W3C has them; anything else is no run.
select t.equal(fsm.run_is_sound(r.seq, r.hash::bytea, r.data::jsonb, r.trace)::text, r.sound)
  from (values (0, null, '{}', repeat('0', 31) || '1', 'true'), (3, 'h', '{"a":1}', '0123456789abcdef0123456789abcdef', 'true'),
               (0, 'h', '{}', repeat('a', 32), 'false'), (1, null, '{}', repeat('a', 32), 'false'),
               (1, 'h', '[]', repeat('a', 32), 'false'), (1, 'h', 'null', repeat('a', 32), 'false'),
               (1, 'h', '{}', repeat('0', 32), 'false'), (1, 'h', '{}', repeat('A', 32), 'false'), (1, 'h', '{}', repeat('a', 31), 'false'),
               (1, 'h', '{}', repeat('a', 33), 'false'), (1, 'h', '{}', repeat('a', 31) || E'\n', 'false'),
               (1, 'h', '{}', repeat('a', 30) || 'é', 'false')) r (seq, hash, data, trace, sound);
