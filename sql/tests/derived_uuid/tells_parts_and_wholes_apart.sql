-- claim: different parts and different wholes have different ids, the same ones the same.
select t.equal(count(distinct internal.derived_uuid(w, p))::text, '400')
  from (select ('0199a3f0-7d3f-7b58-9a26-' || lpad(n::text, 12, '0'))::uuid as w from generate_series(1, 100) n) whole,
       (values ('unit,u1'), ('unit,u2'), ('version,u1'), ('row,u1')) part (p);
-- Known beforehand by whoever signs: the same on every machine, for ever.
select t.equal(internal.derived_uuid('0199a3f0-7d3f-7b58-9a26-c80e4f51d37b', 'unit,u1')::text,
               internal.derived_uuid('0199A3F0-7D3F-7B58-9A26-C80E4F51D37B'::uuid, 'unit,u1')::text);
