-- claim: of all texts that mean the same double the shortest is taken, also where it lies half-way between two doubles.
select t.equal(internal.canonical_number(n.given), n.printed)
  from (values (1e23, '1e+23'), (99999999999999991611392, '1e+23'), (5e22, '5e+22'), (-145e20, '-1.45e+22'),
               (31376105647413328, '31376105647413330'), (0.1, '0.1'), (0.30000000000000004, '0.30000000000000004')) n (given, printed);
