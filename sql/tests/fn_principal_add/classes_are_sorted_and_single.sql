-- claim: classes are kept once each, in order, whatever was given and in how many calls.
select identity.fn_principal_add('amy', 'human', '{reviewer,pic_human,reviewer}');
select t.equal(identity.fn_principal_add('amy', 'human', '{sovereign,reviewer}') ->> 'actor_classes', '["pic_human", "reviewer", "sovereign"]');
select t.equal(string_agg(l.action || ' ' || l.facts, '; ' order by l.identity_log_id),
               'principal_added {"kind": "human"}; classes_granted {"classes": ["pic_human", "reviewer"]}; classes_granted {"classes": ["sovereign"]}')
  from identity.identity_log l where l.principal = 'amy';
