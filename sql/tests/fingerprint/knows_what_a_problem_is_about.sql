-- claim: reports about the same thing have one fingerprint, whoever says it and however; no two lists of fields run into each other.
select t.equal(governance.fingerprint('a', 'thing', 'b', 'one', 'x')::text, governance.fingerprint('a', 'thing', 'b', 'two', 'y')::text);
select t.equal((governance.fingerprint('a', 'thing', 'b', null, null) = governance.fingerprint('a', 'thin', 'gb', null, null))::text, 'false');
select t.equal((governance.fingerprint('a', null, null, 'one', 'x') = governance.fingerprint('a', null, null, 'two', 'x'))::text, 'false');
select t.equal((governance.fingerprint('a', null, null, 'onex', '') = governance.fingerprint('a', null, null, 'one', 'x'))::text, 'false');
