-- claim: the order of the keys is the order of UTF-16 code units, with a prefix before what it begins.
select t.equal(string_agg(to_hex(ascii(c.text)), ' ' order by internal.utf16_sort_key(c.text)), '41 61 e9 20ac d7ff 10000 1f600 10ffff e000 ffff')
  from (values (U&'\ffff'), (U&'\+10FFFF'), ('a'), (U&'\e000'), (U&'\+01F600'), ('A'), (U&'\20ac'), (U&'\d7ff'), (U&'\+010000'), (U&'\00e9')) c (text);
select t.equal((internal.utf16_sort_key('a') < internal.utf16_sort_key('aa'))::text, 'true');
select t.equal(internal.utf16_sort_key('')::text, '\x');
