-- claim: a payload that hides a secret is refused by the name of the key; the secret is not repeated.
select t.equal((p.problems -> 0 -> 'breaks')::text, '[{"keys": ["Token"], "rule": "denied_keys"}]'), t.equal(strpos(p.problems::text, 'hush')::text, '0')
  from (select event.payload_problems('parcel.packed', '{"weight": 1, "list": [{"Token": "hush"}]}') as problems) p;
select t.equal(event.payload_problems('parcel.packed', '{"weight": 1}')::text, '[]');
select t.equal(event.payload_problems('parcel.packed', '{"weight": -1}') #>> '{0,breaks,0,at}', '/weight');
