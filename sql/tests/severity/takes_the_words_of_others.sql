-- claim: the words that programs use are taken for one of three; others for none.
select t.equal(governance.severity(w), s)
  from (values ('critical', 'critical'), ('ERROR', 'critical'), ('fatal', 'critical'), ('warn', 'warning'), (' Warning ', 'warning'),
               ('info', 'info'), ('normal', 'info'), ('notice', 'info'), ('loud', null), ('', null), (null, null)) v (w, s);
