-- claim: SEC-1: a key of small order, in another encoding than its own or off the curve is neither registered nor asked for, and leaves nothing.
select t.refused('RI052', format('select identity.fn_key_register(%L, %L, %L, %L)', '00000000-0000-0000-0000-000000000001', 'worker', k, k || decode(repeat('00', 32), 'hex'))),
       t.refused('RI052', format('select identity.fn_key_request(%L, %L, %L, %L)', '00000000-0000-0000-0000-000000000001', 'worker', k, k || decode(repeat('00', 32), 'hex')))
  from (values ('\x0100000000000000000000000000000000000000000000000000000000000000'::bytea),
               ('\x0000000000000000000000000000000000000000000000000000000000000080'::bytea),
               ('\xc7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'::bytea),
               -- y = p + 3, which is a point of the curve in another encoding
               ('\xf0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'::bytea),
               ('\x0200000000000000000000000000000000000000000000000000000000000000'::bytea)) weak (k);
select t.equal(count(*)::text, '0') from identity.signing_key;
select t.equal(count(*)::text, '0') from identity.key_request;
