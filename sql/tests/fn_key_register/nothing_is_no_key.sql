-- claim: without bytes, or with bytes that are no key's, nothing is registered.
select t.refused('RI012', $$select identity.fn_key_register('00000000-0000-0000-0000-000000000001', 'worker', null, '\x00')$$);
select t.refused('RI012', $$select identity.fn_key_register('00000000-0000-0000-0000-000000000001', 'worker', '\x00', '\x00')$$);
select t.refused('RI001', $$select identity.register_key('00000000-0000-0000-0000-000000000001', null, decode(repeat('01', 32), 'hex'), null, null)$$);
select t.equal(count(*)::text, '0') from identity.signing_key;
