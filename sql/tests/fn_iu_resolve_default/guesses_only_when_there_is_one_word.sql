-- claim: a word that was left out is filled in only where there is no choice.
select t.equal(iu.fn_iu_resolve_default('unit_kind', 'law_unit')::text, '{"value": "law_unit", "status": "explicit"}'),
       t.equal(iu.fn_iu_resolve_default('unit_kind', 'poem') ->> 'status', 'error'),
       t.equal(iu.fn_iu_resolve_default('unit_kind', null) ->> 'status', 'error'),
       t.equal(iu.fn_iu_resolve_default('nothing', null) ->> 'status', 'error');
set local role chancery_owner;
delete from config.dot_config where key = 'vocab.unit_kind.law_unit';
reset role;
select t.equal(iu.fn_iu_resolve_default('unit_kind', null)::text, '{"value": "design_doc_section", "status": "auto_single"}');
