// The tables of evidence that a bundle holds, with every version of their digests. A digest is over values, not over what they are called: names and
// order come from here and not from the file that is looked at.

export const LOG = 'fsm.transition_log'
export const DOCUMENT = 'iu.source_document'
export const SOURCE = 'iu.source_version'
export const UNIT = 'iu.information_unit'
export const VERSION = 'iu.unit_version'
export const DRAFT = 'iu.unit_edit_draft'
export const LIFECYCLE = 'iu.iu_lifecycle_log'
export const ENTRY = 'cutter_governance.decision_backlog_entry'
export const DEPENDENCY = 'cutter_governance.decision_backlog_dependency'
export const SWEEP = 'cutter_governance.decision_backlog_sweep_log'
export const ENVELOPE = 'cutter_governance.manifest_envelope'
export const BLOCK = 'cutter_governance.manifest_unit_block'
export const DECISION = 'cutter_governance.review_decision'
export const SIGNATURE = 'cutter_governance.dot_pair_signature'
export const CHANGE_SET = 'cutter_governance.cut_change_set'
export const AFFECTED = 'cutter_governance.cut_change_set_affected_row'
export const RESULT = 'cutter_governance.verify_result'
export const REQUEST = 'approval.approval_request'
export const VOTE = 'approval.approval_vote'
export const USE = 'approval.approval_use'
export const REVISION = 'kb.revision'
export const UNDER = 'kb.revision_signature'
export const ORCHESTRATED = 'orchestrator.run'

/** A table of evidence: its columns by the names that they have now, and what the digests of its rows are over. */
export interface Table {
  name: string
  /** What digests and bundles call it: its first name. */
  tag: string
  key: string[]
  /** Columns outside the digest: doors change them, and what they hold follows from other evidence. */
  outside: string[]
  /** What each version is over, in the order of the digest; the first one is version 1. */
  versions: string[][]
  renamed: [string, string][]
}

/** One version of a log row's hash: values whose alphabet has no comma, and free texts. The statement that was signed goes with it. */
export interface LogVersion {
  plain: string[]
  texts: string[]
  statement: 1
}

/** What is known of evidence: every version there ever was. */
export interface Registry {
  tables: Table[]
  log: LogVersion[]
}

const RUN_COLUMNS = ['facet', 'seq', 'head_hash', 'last_transition_at']

/** A table as its first release had it. What came later is appended to its line: see addColumns and renameColumn. */
function table(name: string, key: string, columns: string, outside: string[] = []): Table {
  return { name, tag: name, key: key.split(' '), outside, versions: [columns.split(/\s+/)], renamed: [] }
}

/** A further version: over what the one before it was over, and these columns behind it. */
export function addColumns(of: Table, ...columns: string[]): Table {
  return { ...of, versions: [...of.versions, [...(of.versions.at(-1) ?? []), ...columns]] }
}

/** A column under another name: a digest is over values, not over what they are called. The old name is never used again. */
export function renameColumn(of: Table, old: string, name: string): Table {
  const list = (columns: string[]) => columns.map((column) => (column === old ? name : column))
  return { ...of, key: list(of.key), outside: list(of.outside), versions: of.versions.map(list), renamed: [...of.renamed, [old, name]] }
}

/** What a column is called now that was called so once. */
export function currentName(of: Table, column: string): string {
  return of.renamed.reduce((name, [old, current]) => (name === old ? current : name), column)
}

/** Every column that the table has, ascending. */
export function columnsOf(of: Table): string[] {
  return [...new Set([...of.versions.flat(), ...of.outside, 'row_digest', 'digest_version'])].sort()
}

const TABLES: Table[] = [
  table(DOCUMENT, 'document_id', 'address_docprefix created_at created_by document_id'),
  table(SOURCE, 'source_version_id',
    'body byte_length content_sha256 created_at created_by document_id media_type source_version_id version_seq'),
  table(UNIT, 'id',
    `canonical_address conformance_status content_anchor_ref created_at created_by deleted_at doc_code id identity_profile
     lifecycle_status owner_ref parent_or_container_ref section_code section_type sort_order unit_kind updated_at
     updated_by version_anchor_ref`),
  table(VERSION, 'id',
    'body content_hash content_profile created_at created_by enacted_at id lifecycle_status title unit_id version_seq'),
  table(DRAFT, 'draft_id', 'base_version_id body created_at created_by draft_id title unit_id'),
  table(LIFECYCLE, 'lifecycle_log_id',
    `actor at change_kind change_set_id edit_draft_id from_lifecycle lifecycle_log_id prev_digest reason review_decision_id
      seq to_lifecycle tool_revision unit_digest unit_id unit_version_id version_digest`),
  table(ENTRY, 'entry_id',
    `correlation_id document_id emitted_at entry_id escalation_of idempotency_key kind payload
      scenario_ref source_version_id started_by state_machine_id trace_id`, ['status', ...RUN_COLUMNS]),
  table(DEPENDENCY, 'dependency_id', 'created_at created_by dependency_id dependency_kind from_entry_id to_entry_id'),
  table(SWEEP, 'sweep_id',
    `batch_limit created_count prev_digest promoted_count report_summary scanned_count sweep_id sweep_seq
     sweep_trigger_kind swept_at swept_by`),
  table(ENVELOPE, 'envelope_id',
    `created_at created_by document_id entry_id envelope_id manifest_digest operation_kind profile publication_type rationale
     region_sha reviewed_at reviewer source_doc_ref source_version_id status tool_revision unit_count unit_kind`),
  table(BLOCK, 'envelope_id unit_local_id',
    `block_role envelope_id parent_local_id proposed_canonical_address region_sha render_order section_type span_end
     span_start title unit_local_id`),
  table(DECISION, 'review_decision_id',
    `created_at decision_at decision_payload entry_id findings governance_event_kind key_id manifest_id manifest_unit_local_id
     manifest_version prior_review_decision_id review_decision_id review_scope reviewer_class reviewer_identity
     risk_class_assessment signature status verdict verdict_rationale`,
    ['superseded_by_review_decision_id']),
  table(SIGNATURE, 'signature_id',
    `cross_reference_change_set_id cross_reference_verify_result_id key_id lane_seq payload_envelope payload_hash
     prior_signature_id recorded_at signature signature_id signature_kind signature_payload signed_at signer_dot_id
     signer_principal signer_tool_revision`),
  table(CHANGE_SET, 'change_set_id',
    `affected_unit_count change_kind change_set_digest change_set_id decision_backlog_entry_id effect_digest emitted_at emitted_by
     executor_signature_id executor_tool_revision manifest_id manifest_version payload_summary review_decision_id rollback_key
     rollback_of_change_set_id rollback_reason state verifier_signature_id verifier_tool_revision writer_digest`),
  table(AFFECTED, 'affected_row_id',
    `affected_row_id after_state_snapshot before_state_snapshot change_set_id lifecycle_digest operation_kind render_order
      target_row_id target_table`),
  table(RESULT, 'verify_result_id',
    `axis_1_status axis_2_status canonicalization_rule_used change_set_id escalation_ref executor_signature_id
     executor_tool_revision findings manifest_id manifest_version prior_verify_result_id review_decision_id
     rollback_change_set_id_triggered state tool_revision_match verdict verified_at verified_by
     verifier_signature_id verifier_tool_revision verify_digest verify_kind verify_result_id`),
  table(REQUEST, 'approval_id',
    `approval_id expires_at facts key_id kind proposer request_payload requested_at risk signature signed_at
     subject_digest subject_kind subject_ref title`),
  table(VOTE, 'vote_id',
    `approval_id counted_as decision key_id rationale signature signed_at vote_id vote_payload vote_seq voted_at voter`),
  table(USE, 'approval_id', 'approval_id used_at used_by used_for_kind used_for_ref'),
  table(REVISION, 'path revision', 'author body created_at kind path revision sha256'),
  table(UNDER, 'signature_id',
    'key_id meaning path recorded_at revision signature signature_id signature_payload signed_at signer'),
  table(ORCHESTRATED, 'run_id',
    `correlation_id created_at document_id entry_id run_id run_name
     source_version_id started_by state_machine_id trace_id`, ['state_code', ...RUN_COLUMNS]),
]

const LOG_V1: LogVersion = {
  plain: ['run_id', 'seq', 'log_id', 'key_id', 'at_micros', 'prev_hash', 'artefact_digest', 'signature'],
  texts: ['run_kind', 'state_machine_id', 'transition_id', 'from_state', 'to_state', 'facet', 'principal', 'actor_class', 'trigger_kind', 'trigger_ref',
    'reason', 'evidence', 'event_type', 'idempotency_key'],
  statement: 1,
}

/** What this release knows. */
export const RELEASE: Registry = { tables: TABLES, log: [LOG_V1] }

/** The columns of the log that came after version 1. */
export function laterOf(log: LogVersion[]): string[] {
  const known = [...LOG_V1.plain, ...LOG_V1.texts]
  return [...new Set(log.flatMap((version) => [...version.plain, ...version.texts]))].filter((column) => !known.includes(column))
}

/** Every column of the log in a bundle, ascending. */
export function logColumns(log: LogVersion[]): string[] {
  return [...LOG_V1.plain, ...LOG_V1.texts, 'hash', 'hash_version', ...laterOf(log)].sort()
}

export const KEY_COLUMNS = ['key_id', 'principal', 'public_key', 'registered_at_micros', 'revoked_at_micros']
export const PRINCIPAL_COLUMNS = ['kind', 'name']
