-- claim: what was stamped under a version keeps it and its digest, until a column that the version does not cover gets a value.
alter table iu.source_document disable trigger user;
alter table iu.source_document drop constraint source_document_created_by_fkey;
alter table iu.source_document enable always trigger zz_stamps_its_digest;
-- A hand that names a version gets the one that the release stamps.
insert into iu.source_document (document_id, address_docprefix, created_by, created_at, digest_version) values
  ('old', 'OLD', 'worker', 'epoch', 7), ('odd', 'ODD', 'worker', 'epoch', 1);
create temporary table before as select document_id, digest_version, row_digest from iu.source_document;
select t.equal(string_agg(distinct digest_version::text, ','), '1') from before;

alter table audit.evidence_def disable trigger user;
alter table audit.evidence_version disable trigger user;
alter table iu.source_document add column note text, add column state text;
insert into audit.evidence_version select table_name, 2, columns || '{note}' from audit.evidence_version where table_name = 'iu.source_document';
update audit.evidence_def set mutable_columns = '{state}' where table_name = 'iu.source_document';
select internal.generate_digests();

-- Changed besides its digest, and by a hand that says otherwise: the same row.
update iu.source_document set state = 'read', digest_version = 2 where document_id = 'old';
select t.equal((d.digest_version, d.row_digest)::text, (b.digest_version, b.row_digest)::text)
  from iu.source_document d join before b using (document_id) where d.document_id = 'old';
-- Stamped again over the same columns.
update iu.source_document set created_by = 'other' where document_id = 'old';
select t.equal(digest_version::text, '1'),
       t.equal(encode(row_digest, 'hex'), encode(sha256('chancery.row.v1,iu.source_document,3,1,5,3:OLD0otherold'), 'hex'))
  from iu.source_document where document_id = 'old';
-- A value beyond its version.
update iu.source_document set note = 'new' where document_id = 'old';
select t.equal(digest_version::text, '2'),
       t.equal(encode(row_digest, 'hex'), encode(sha256('chancery.row.v2,iu.source_document,3,1,5,3,3:OLD0otheroldnew'), 'hex'))
  from iu.source_document where document_id = 'old';
update iu.source_document set note = null where document_id = 'old';
select t.equal(digest_version::text, '2') from iu.source_document where document_id = 'old';
-- Whatever is new is of the newest version, with and without a value there.
insert into iu.source_document (document_id, address_docprefix, created_by, created_at) values ('new', 'NEW', 'worker', 'epoch');
select t.equal(digest_version::text, '2'),
       t.equal(encode(row_digest, 'hex'), encode(sha256('chancery.row.v2,iu.source_document,3,1,6,3,-1:NEW0workernew'), 'hex'))
  from iu.source_document where document_id = 'new';
-- A version that no release had is not stamped.
alter table iu.source_document disable trigger zz_stamps_its_digest;
update iu.source_document set digest_version = 9 where document_id = 'odd';
alter table iu.source_document enable always trigger zz_stamps_its_digest;
select t.refused('23502', $$update iu.source_document set created_by = 'other' where document_id = 'odd'$$);

-- A table that gets another name keeps its tag.
alter table iu.source_document rename to document;
update audit.evidence_def set table_name = 'iu.document' where table_name = 'iu.source_document';
update audit.evidence_version set table_name = 'iu.document' where table_name = 'iu.source_document';
select internal.generate_digests();
create or replace trigger zz_stamps_its_digest before insert or update on iu.document for each row execute function audit.stamp_iu_document();
alter table iu.document enable always trigger zz_stamps_its_digest;
update iu.document set created_by = 'third' where document_id = 'new';
select t.equal(encode(row_digest, 'hex'), encode(sha256('chancery.row.v2,iu.source_document,3,1,5,3,-1:NEW0thirdnew'), 'hex')) from iu.document where document_id = 'new';
