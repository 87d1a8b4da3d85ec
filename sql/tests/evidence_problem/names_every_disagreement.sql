-- claim: lists and columns that disagree are named, whichever way they do, and a release with such a table does not install.
select t.equal(internal.evidence_problem(), null);

alter table audit.evidence_def disable trigger user;
alter table audit.evidence_version disable trigger user;
savepoint clean;
alter table iu.source_document add column note text;
select t.equal(internal.evidence_problem(), 'iu.source_document.note is in no digest: add a version to audit.evidence_version, or declare it mutable'),
       t.refused('42P16', 'select internal.generate_digests()');
update audit.evidence_def set mutable_columns = '{note}' where table_name = 'iu.source_document';
select t.equal(internal.evidence_problem(), null);
rollback to clean;

-- A version makes it part of the digest. Rows of the version before must be able to leave it null.
alter table iu.source_document add column note text;
insert into audit.evidence_version select table_name, 2, columns || '{note}' from audit.evidence_version where table_name = 'iu.source_document';
select t.equal(internal.evidence_problem(), null);
alter table iu.source_document alter column note set not null;
select t.equal(internal.evidence_problem(), 'iu.source_document.note was added after version 1: rows of that version must be able to leave it null, so it is nullable and was added without a default');
rollback to clean;
alter table iu.source_document add column note text default 'none';
insert into audit.evidence_version select table_name, 2, columns || '{note}' from audit.evidence_version where table_name = 'iu.source_document';
select t.equal(starts_with(internal.evidence_problem(), 'iu.source_document.note was added after version 1')::text, 'true');
rollback to clean;

-- A column that was renamed is renamed in the lists as well.
alter table iu.source_document rename column created_by to author;
select t.equal(internal.evidence_problem(), 'iu.source_document.author is in no digest: add a version to audit.evidence_version, or declare it mutable');
update audit.evidence_version set columns = array_replace(columns, 'created_by', 'author') where table_name = 'iu.source_document';
select t.equal(internal.evidence_problem(), null);
rollback to clean;

update audit.evidence_version set columns = columns || '{gone}' where table_name = 'kb.revision';
select t.equal(internal.evidence_problem(), 'version 1 of the digests of kb.revision is over gone, which is no column of the table');
rollback to clean;
update audit.evidence_version set columns = columns || '{row_digest}' where table_name = 'kb.revision';
select t.equal(internal.evidence_problem(), 'version 1 of the digests of kb.revision is over row_digest, which is no column of the table');
rollback to clean;
update audit.evidence_version set columns = columns || '{body}' where table_name = 'kb.revision';
select t.equal(internal.evidence_problem(), 'version 1 of the digests of kb.revision names body twice');
rollback to clean;
update audit.evidence_version set columns = columns || '{seq}' where table_name = 'orchestrator.run';
select t.equal(internal.evidence_problem(), 'version 1 of the digests of orchestrator.run is over seq, which is declared mutable');
rollback to clean;
delete from audit.evidence_version where table_name = 'kb.revision';
select t.equal(internal.evidence_problem(), 'kb.revision is evidence and audit.evidence_version has no list for the version of its new rows');
rollback to clean;
insert into audit.evidence_version values ('kb.nothing', 1, '{a}');
select t.equal(internal.evidence_problem(), 'audit.evidence_version has a list for kb.nothing, which is no table of evidence');
rollback to clean;
insert into audit.evidence_def (table_name, tag, description) values ('kb.nothing', 'kb.nothing', 'not there');
select t.equal(internal.evidence_problem(), 'kb.nothing is evidence and does not exist');
rollback to clean;
alter table kb.revision drop column digest_version cascade;
select t.equal(internal.evidence_problem(), 'kb.revision has no column digest_version, which every table of evidence has');
rollback to clean;

-- The log, whose newest version is the default of its column.
alter table fsm.transition_log add column login text;
select t.equal(internal.evidence_problem(), 'fsm.transition_log.login is in no digest: add a version to audit.evidence_version, or declare it mutable');
insert into audit.evidence_version select table_name, 2, columns || '{login}' from audit.evidence_version where table_name = 'fsm.transition_log';
select t.equal(internal.evidence_problem(), 'fsm.transition_log.login is in no digest: add a version to audit.evidence_version, or declare it mutable');
alter table fsm.transition_log alter column hash_version set default 2;
select t.equal(internal.evidence_problem(), null);
alter table fsm.transition_log alter column hash_version set default 3;
select t.equal(internal.evidence_problem(), 'fsm.transition_log is evidence and audit.evidence_version has no list for the version of its new rows');
rollback to clean;
