-- claim: an unknown class is refused by name, and nothing of the call is done.
select t.refused('RI011', $$select identity.fn_principal_add('amy', 'human', '{reviewer,wizard}')$$);
select t.refused('RI009', $$select identity.fn_principal_add('worker', 'human', '{}')$$);
select t.equal(count(*)::text, '0') from identity.principal p where p.name = 'amy';
