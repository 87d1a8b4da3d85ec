-- claim: a number that no normal double holds is refused, never rounded to nothing or to infinity.
select t.refused('RS014', 'select internal.canonical_number(1e309)');
select t.refused('RS014', 'select internal.canonical_number(-1e309)');
select t.refused('RS014', 'select internal.canonical_number(1e-320)');
select t.refused('RS014', 'select internal.canonical_number(1e-400)');
