-- Who may ask over HTTP: permissions by actor class, passwords, sessions, tokens, identities of other providers, keys made in a browser.
create table identity.permission (
  permission text primary key,
  description text not null,
  constraint permission_is_dotted check (permission ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$')
);
comment on table identity.permission is 'What a route asks for. A route names one; the doors behind it judge every write again.';

create table identity.class_permission (
  actor_class text not null references identity.actor_class (code),
  permission text not null references identity.permission (permission),
  primary key (actor_class, permission)
);
comment on table identity.class_permission is 'Which classes may what. A principal may what any of its classes may.';

insert into identity.permission (permission, description) values
  ('self.read', 'see who one is, one''s tokens and keys'),
  ('self.write', 'change one''s password, make and revoke one''s tokens, ask for a key'),
  ('problems.read', 'the problem page'),
  ('problems.dlq', 'jobs that died'),
  ('problems.silent_worker', 'workers that are silent'),
  ('problems.overdue_step', 'steps past their deadline'),
  ('problems.schema_violation', 'events that were refused'),
  ('problems.event_lag', 'consumers that are late'),
  ('problems.integrity', 'warnings of integrity'),
  ('problems.failed_cut', 'cuts that failed'),
  ('problems.orphan_workflow', 'runs that nothing drives'),
  ('problems.settle', 'acknowledge and resolve findings'),
  ('summary.write', 'put summaries'),
  ('audit.read', 'timelines of everybody, exports, the audit'),
  ('machine.read', 'machines and their states'),
  ('run.read', 'runs of custom machines'),
  ('run.move', 'start and move runs of custom machines'),
  ('workflow.read', 'definitions, runs, steps and tasks of workflows'),
  ('workflow.propose', 'propose changes of workflows, and other proposals'),
  ('workflow.run', 'start, pause, resume and cancel runs'),
  ('work.move', 'move steps and tasks, answer what they wait for, comment'),
  ('approval.read', 'requests for approval and votes'),
  ('approval.request', 'ask for an approval'),
  ('approval.vote', 'vote on requests'),
  ('kb.read', 'documents of the knowledge base'),
  ('kb.write', 'write and sign documents of the knowledge base'),
  ('doc.read', 'source documents and their units'),
  ('doc.write', 'add source documents'),
  ('entry.read', 'requests to cut and what came of them'),
  ('entry.move', 'mark and abandon requests to cut'),
  ('orchestrator.read', 'runs of the orchestrator'),
  ('orchestrator.stop', 'stop runs of the orchestrator'),
  ('birth.read', 'families, permits and births'),
  ('birth.request', 'ask for permits'),
  ('birth.revoke', 'take permits back'),
  ('queue.read', 'jobs, dead letters, replays, workers'),
  ('queue.work', 'take jobs and report on them'),
  ('queue.replay', 'propose and carry out replays, dismiss dead letters, cancel jobs'),
  ('principal.read', 'principals and their public keys');

insert into identity.class_permission (actor_class, permission)
-- Everybody who is somebody.
select a.code, p.permission from identity.actor_class a, identity.permission p where p.permission in ('self.read', 'self.write', 'machine.read', 'workflow.read')
union
-- Those who watch see everything and change nothing.
select a.code, p.permission from identity.actor_class a, identity.permission p
 where a.code in ('observer', 'reviewer', 'sovereign', 'review_authority', 'system')
   and (p.permission like '%.read' or p.permission like 'problems.%' and p.permission <> 'problems.settle')
union
-- Those who work see what they work with; the audit and the list of principals are for those who watch.
select a.code, p.permission from identity.actor_class a, identity.permission p
 where a.code in ('pic_human', 'escalation_handler', 'mow_orchestrator')
   and (p.permission like '%.read' or p.permission like 'problems.%' and p.permission <> 'problems.settle')
   and p.permission not in ('audit.read', 'principal.read', 'problems.integrity')
union
select 'task_pic_human', p from unnest(array['doc.read', 'kb.read', 'approval.read', 'work.move', 'workflow.propose', 'approval.request']) p
union
select a.code, p from identity.actor_class a, unnest(array['doc.read', 'kb.read', 'entry.read', 'orchestrator.read']) p
 where a.code in ('executor_dot991', 'verifier_dot992', 'executor_worker')
union
select 'executor_worker', p from unnest(array['queue.work', 'queue.read', 'work.move', 'workflow.propose', 'approval.request', 'birth.request', 'birth.read',
                                              'run.read', 'run.move', 'summary.write']) p
union
select 'pic_human', p from unnest(array['workflow.propose', 'workflow.run', 'work.move', 'run.move', 'approval.request', 'kb.write', 'doc.write', 'entry.move',
                                        'birth.request', 'queue.replay', 'problems.settle']) p
union
select 'escalation_handler', p from unnest(array['work.move', 'workflow.run', 'approval.request', 'queue.replay', 'problems.settle']) p
union
select 'reviewer', p from unnest(array['workflow.propose', 'workflow.run', 'work.move', 'run.move', 'approval.request', 'approval.vote', 'kb.write', 'doc.write',
                                       'entry.move', 'birth.request', 'birth.revoke', 'queue.replay', 'problems.settle', 'orchestrator.stop']) p
union
select 'review_authority', p from unnest(array['approval.request', 'approval.vote', 'kb.write']) p
union
select 'sovereign', p from unnest(array['workflow.propose', 'workflow.run', 'work.move', 'run.move', 'approval.request', 'approval.vote', 'kb.write', 'doc.write',
                                        'entry.move', 'birth.request', 'birth.revoke', 'queue.replay', 'problems.settle', 'orchestrator.stop']) p
union
select 'system', p from unnest(array['summary.write', 'queue.work', 'run.move']) p;

create table identity.credential (
  principal text primary key references identity.principal (name),
  salt bytea not null,
  hash bytea not null,
  memory_kib integer not null,
  passes integer not null,
  lanes integer not null,
  set_at timestamptz not null,
  set_by text,
  constraint credential_salt_is_16_bytes check (octet_length(salt) = 16),
  constraint credential_hash_is_32_bytes check (octet_length(hash) = 32),
  -- OWASP's least for argon2id.
  constraint credential_is_costly check (memory_kib between 19456 and 1048576 and passes between 2 and 16 and lanes between 1 and 4)
);
comment on table identity.credential is 'Passwords of people, as argon2id with a salt of each. No hash leaves the database: the server sends what it computed.';

create table identity.decoy (
  only_one boolean primary key default true,
  salt bytea not null,
  constraint decoy_is_one check (only_one)
);
insert into identity.decoy (salt) values (sha256(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')));
comment on table identity.decoy is 'What salts are made of for names that nobody has: asking for one does not tell whether there is such a name.';

create table identity.sign_in_attempt (
  name_sha256 bytea primary key,
  failures integer not null,
  failing_since timestamptz not null,
  constraint sign_in_attempt_digest_is_sha256 check (octet_length(name_sha256) = 32),
  constraint sign_in_attempt_failed check (failures > 0)
);
create index sign_in_attempt_since_idx on identity.sign_in_attempt (failing_since);
comment on table identity.sign_in_attempt is 'Wrong passwords by name, whether somebody has the name or not, as its digest: people type passwords where a name belongs.';

create table identity.session (
  session_id uuid primary key,
  token_sha256 bytea not null unique,
  csrf_sha256 bytea not null,
  principal text not null references identity.principal (name),
  how text not null,
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint session_digests_are_sha256 check (octet_length(token_sha256) = 32 and octet_length(csrf_sha256) = 32),
  constraint session_how_is_known check (how in ('password', 'oidc')),
  constraint session_expires_later check (expires_at > opened_at)
);
create index session_of_principal_idx on identity.session (principal) where ended_at is null;
comment on table identity.session is 'Signed-in browsers: digests of the cookie and of the token that a form must show. Neither is kept itself.';

create table identity.api_token (
  token_id uuid primary key,
  token_sha256 bytea not null unique,
  principal text not null references identity.principal (name),
  label text not null,
  scopes text[] not null,
  issued_at timestamptz not null,
  issued_by text not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoke_reason text,
  constraint api_token_digest_is_sha256 check (octet_length(token_sha256) = 32),
  constraint api_token_is_labelled check (btrim(label) <> '' and octet_length(label) <= 200),
  constraint api_token_has_scopes check (cardinality(scopes) > 0),
  constraint api_token_expires_later check (expires_at > issued_at),
  constraint api_token_revoked_with_reason check ((revoked_at is null) = (revoke_reason is null))
);
create index api_token_of_principal_idx on identity.api_token (principal);
comment on table identity.api_token is 'Tokens of programs: the digest, whose it is, what it may and until when. Used by nobody but the one it was told to, once.';

create table identity.oidc_link (
  issuer text not null,
  subject text not null,
  principal text not null references identity.principal (name),
  linked_at timestamptz not null,
  linked_by text,
  primary key (issuer, subject),
  constraint oidc_link_is_bounded check (octet_length(issuer) between 8 and 500 and octet_length(subject) between 1 and 255)
);
comment on table identity.oidc_link is 'Which identity of which provider is which principal. Set by the operator: a name or address that a provider tells is no proof.';

create table identity.key_request (
  request_id uuid primary key,
  principal text not null references identity.principal (name),
  public_key bytea not null unique,
  requested_at timestamptz not null,
  settled_at timestamptz,
  outcome text,
  constraint key_request_is_ed25519_sized check (octet_length(public_key) = 32),
  constraint key_request_outcome_is_known check (outcome in ('accepted', 'refused')),
  constraint key_request_is_settled_whole check ((settled_at is null) = (outcome is null))
);
comment on table identity.key_request is 'Public keys that people made in their browsers. The operator accepts them: the API server cannot give anybody a key.';

insert into config.dot_config (key, value, description) values
  ('session.hours', '12', 'A browser stays signed in this long.'),
  ('sign_in.failures', '10', 'After so many wrong passwords in a window a name can''t sign in for the rest of it.'),
  ('sign_in.window_minutes', '15', 'The window in which wrong passwords are counted.'),
  ('sign_in.per_address_per_minute', '30', 'So often one address may try to sign in in a minute; the server holds to it.'),
  ('api_token.longest_days', '366', 'No token lives longer.'),
  ('api.requests_per_minute', '6000', 'So many requests one principal may send in a minute; the server holds to it.');

-- The decoy is not carried: a new database has its own.
update config.dot_config
   set value = value || '["identity.credential","identity.sign_in_attempt","identity.session","identity.api_token","identity.oidc_link","identity.key_request"]'
 where key = 'orchestrator.backup.tables';
