-- claim: a unit that lacks something is told what; a whole one is told nothing.
select t.equal(iu.unit_problem('POL/one', 'One', 'alice', 'law_unit', 'article', 'law', null)::text, null);
select t.equal(iu.unit_problem(address, title, owner, kind, section, publication, parent) ->> 'field', field)
  from (values
    (null, 'One', 'alice', 'law_unit', 'article', 'law', null::uuid, 'canonical_address'),
    ('POL', 'One', 'alice', 'law_unit', 'article', 'law', null, 'canonical_address'),
    ('POL/', 'One', 'alice', 'law_unit', 'article', 'law', null, 'canonical_address'),
    ('POL/Ä', 'One', 'alice', 'law_unit', 'article', 'law', null, 'canonical_address'),
    ('POL/one', null, 'alice', 'law_unit', 'article', 'law', null, 'title'),
    ('POL/one', 'One', '', 'law_unit', 'article', 'law', null, 'owner_ref'),
    ('POL/one', 'One', 'alice', null, 'article', 'law', null, 'unit_kind'),
    ('POL/one', 'One', 'alice', 'article', 'article', 'law', null, 'unit_kind'),
    ('POL/one', 'One', 'alice', 'law_unit', 'law', 'law', null, 'section_type'),
    ('POL/one', 'One', 'alice', 'law_unit', 'article', 'article', null, 'publication_type'),
    ('POL/one', 'One', 'alice', 'law_unit', 'article', 'law', gen_random_uuid(), 'parent_or_container_ref')
  ) c (address, title, owner, kind, section, publication, parent, field);
