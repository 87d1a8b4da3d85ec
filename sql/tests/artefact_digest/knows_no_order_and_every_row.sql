-- claim: one digest for a set of rows: in any order the same, with any other row another.
select t.equal(internal.artefact_digest(array[a, b, c])::text, internal.artefact_digest(array[c, a, b])::text),
       t.equal((internal.artefact_digest(array[a, b]) <> internal.artefact_digest(array[a, b, c]))::text, 'true'),
       t.equal((internal.artefact_digest(array[a, b]) <> internal.artefact_digest(array[a, c]))::text, 'true'),
       -- Twice the same row is another set than once.
       t.equal((internal.artefact_digest(array[a, a]) <> internal.artefact_digest(array[a]))::text, 'true')
  from (values (sha256('a'), sha256('b'), sha256('c'))) digest (a, b, c);
