-- claim: SEC-1: a point of small order is no key in any of its encodings, nor is a point in an encoding that is not its own, nor bytes that are no
--        point. Under the first key here (the point 0, 1) one signature would be good for every text.
select t.equal(string_agg(encode(k, 'hex'), ' ' order by n), null)
  from (values
    (0, decode('0000000000000000000000000000000000000000000000000000000000000000', 'hex')) /* of small order */,
    (1, decode('0000000000000000000000000000000000000000000000000000000000000080', 'hex')) /* of small order */,
    (2, decode('0100000000000000000000000000000000000000000000000000000000000000', 'hex')) /* of small order */,
    (3, decode('0100000000000000000000000000000000000000000000000000000000000080', 'hex')) /* of small order */,
    (4, decode('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')) /* of small order */,
    (5, decode('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85', 'hex')) /* of small order */,
    (6, decode('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex')) /* of small order */,
    (7, decode('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa', 'hex')) /* of small order */,
    (8, decode('ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* of small order */,
    (9, decode('ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 'hex')) /* of small order */,
    (10, decode('edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* of small order */,
    (11, decode('edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 'hex')) /* of small order */,
    (12, decode('eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* of small order */,
    (13, decode('eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 'hex')) /* of small order */,
    (14, decode('f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (15, decode('f1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (16, decode('f2ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (17, decode('f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (18, decode('f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (19, decode('f7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (20, decode('fbffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (21, decode('fcffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (22, decode('fdffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (23, decode('ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex')) /* y not below p */,
    (24, decode('0200000000000000000000000000000000000000000000000000000000000000', 'hex')) /* no point */,
    (25, decode('0700000000000000000000000000000000000000000000000000000000000000', 'hex')) /* no point */,
    (26, decode('0800000000000000000000000000000000000000000000000000000000000000', 'hex')) /* no point */,
    (27, decode('0b00000000000000000000000000000000000000000000000000000000000000', 'hex')) /* no point */) weak (n, k)
 where identity.ed25519_point(k) is not null or identity.verify_ed25519(k, 'x', k || decode(repeat('00', 32), 'hex'));
-- R is the point 0, 1, s is 0: what a verifier that takes this key would find good, whatever the text.
select t.equal(identity.verify_ed25519(k, 'anything', k || decode(repeat('00', 32), 'hex'))::text, 'false')
  from (values (set_byte(decode(repeat('00', 32), 'hex'), 0, 1))) identity_point (k);
-- A key that somebody can have is its point: the base point itself.
select t.equal(identity.ed25519_point(decode('58' || repeat('66', 31), 'hex'))::text,
               '{15112221349535400772501151409588531511454012693041857206046113283949847762202,'
               || '46316835694926478169428394003475163141307993866256225615783033603165251855960}');
