-- claim: a text that is an id gives it, any other text gives nothing and raises nothing.
select t.equal(internal.uuid_or_null('0199A3F0-7d3f-7b58-9a26-c80e4f51d37b')::text, '0199a3f0-7d3f-7b58-9a26-c80e4f51d37b');
select t.equal(coalesce(internal.uuid_or_null(x)::text, 'nothing'), 'nothing')
  from unnest(array['', 'x', '0199a3f0', '0199a3f07d3f7b589a26c80e4f51d37b', ' 0199a3f0-7d3f-7b58-9a26-c80e4f51d37b', null]) x;
