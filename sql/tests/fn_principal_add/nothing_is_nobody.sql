-- claim: without a name or a kind nobody is added; without classes somebody is.
select t.refused('RI010', $$select identity.fn_principal_add(null, 'human', '{}')$$);
select t.refused('RI010', $$select identity.fn_principal_add('amy', null, '{}')$$);
select t.equal(identity.fn_principal_add('amy', 'human', null) ->> 'actor_classes', '[]');
select t.equal(identity.fn_principal_add('amy', 'human', '{}') ->> 'actor_classes', '[]');
