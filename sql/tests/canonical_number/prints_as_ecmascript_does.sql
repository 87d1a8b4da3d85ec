-- claim: numbers are laid out as ECMAScript prints them: plain up to 1e21 and down to 1e-6, with an exponent beyond.
select t.equal(internal.canonical_number(n.given), n.printed)
  from (values (0, '0'), (-0.0, '0'), (1.0, '1'), (-1.50, '-1.5'), (1e20, '100000000000000000000'), (1e21, '1e+21'), (0.000001, '0.000001'),
               (0.0000001, '1e-7'), (123456789.125, '123456789.125'), (-1.25e-9, '-1.25e-9'), (9007199254740993, '9007199254740992'),
               (1.7976931348623157e308, '1.7976931348623157e+308'), (2.2250738585072014e-308, '2.2250738585072014e-308'), (5e-324, '5e-324'),
               (-1.5e-310, '-1.5e-310'), (3e-324, '5e-324')) n (given, printed);
