-- claim: a row has the same digest in every session, over exactly the bytes that the audit hashes.
-- The same row has the same digest whatever the session that writes it is set to; another value has another.
alter table iu.source_document disable trigger user;
alter table iu.source_document enable always trigger zz_stamps_its_digest;
create temporary table seen (digest bytea);
set local datestyle = 'SQL, DMY';
set local timezone = 'Asia/Ho_Chi_Minh';
set local bytea_output = 'escape';
insert into iu.source_document values ('dat', 'DAT', 'worker', '2026-02-03 04:05:06.789Z', '\x00');
insert into seen select row_digest from iu.source_document where document_id = 'dat';
delete from iu.source_document;
set local datestyle = 'ISO, MDY';
set local timezone = 'UTC';
set local bytea_output = 'hex';
insert into iu.source_document values ('dat', 'DAT', 'worker', '2026-02-03 04:05:06.789Z', null);
select t.equal((d.row_digest = s.digest)::text, 'true') from iu.source_document d, seen s;
update iu.source_document set created_at = created_at + interval '1 microsecond';
select t.equal((d.row_digest <> s.digest)::text, 'true') from iu.source_document d, seen s;
-- The bytes, written out: lengths in bytes, in the order of the columns' names.
select t.equal(encode(d.row_digest, 'hex'), encode(sha256(convert_to(
         'chancery.row.v1,iu.source_document,3,16,6,3:' || 'DAT' || '1770091506789001' || 'worker' || 'dat', 'UTF8')), 'hex'))
  from iu.source_document d;
