-- claim: what PostgreSQL can run as a regular expression is one.
select t.equal(event.is_regex(p.pattern)::text, 'true') from (values (''), ('^a+$'), ('\d{3}'), ('(a|b)?'), ('[^\s]')) p (pattern);
select t.equal(event.is_regex(p.pattern)::text, 'false') from (values ('('), ('[z-a]'), ('*'), ('a{3,1}'), ('\')) p (pattern);
