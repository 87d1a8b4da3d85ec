-- claim: a text is hashed as UTF-8.
select t.equal(iu.fn_content_hash('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'),
       t.equal(iu.fn_content_hash('đ'), encode(sha256('\xc491'), 'hex')), t.equal(iu.fn_content_hash(null), null);
