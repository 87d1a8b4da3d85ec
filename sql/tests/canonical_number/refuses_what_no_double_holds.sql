-- claim: a number that no double holds is refused, never rounded to nothing or to infinity.
select t.refused('RS014', 'select internal.canonical_number(1e309)');
select t.refused('RS014', 'select internal.canonical_number(-1e309)');
select t.refused('RS014', 'select internal.canonical_number(2.4e-324)');
select t.refused('RS014', 'select internal.canonical_number(1e-400)');
