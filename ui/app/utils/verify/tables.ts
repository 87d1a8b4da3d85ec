// The tables of evidence that a bundle holds. A digest is over values, not over what they are called: names and order come from here and not from
// the file that is looked at.

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

export interface Table {
  name: string
  key: string[]
  /** Every column, ascending. */
  columns: string[]
  /** Columns outside the digest: doors change them, and what they hold follows from other evidence. */
  outside: string[]
}

const RUN_COLUMNS = ['facet', 'seq', 'head_hash', 'last_transition_at']

function table(name: string, key: string, columns: string, outside: string[] = []): Table {
  return { name, key: key.split(' '), columns: columns.split(/\s+/), outside }
}

export const TABLES: Table[] = [
  table(DOCUMENT, 'document_id', 'address_docprefix created_at created_by document_id row_digest'),
  table(SOURCE, 'source_version_id',
    'body byte_length content_sha256 created_at created_by document_id media_type row_digest source_version_id version_seq'),
  table(UNIT, 'id',
    `canonical_address conformance_status content_anchor_ref created_at created_by deleted_at doc_code id identity_profile
     lifecycle_status owner_ref parent_or_container_ref row_digest section_code section_type sort_order unit_kind updated_at
     updated_by version_anchor_ref`),
  table(VERSION, 'id',
    'body content_hash content_profile created_at created_by enacted_at id lifecycle_status row_digest title unit_id version_seq'),
  table(DRAFT, 'draft_id', 'base_version_id body created_at created_by draft_id row_digest title unit_id'),
  table(LIFECYCLE, 'lifecycle_log_id',
    `actor at change_kind change_set_id edit_draft_id from_lifecycle lifecycle_log_id prev_digest reason review_decision_id
     row_digest seq to_lifecycle tool_revision unit_digest unit_id unit_version_id version_digest`),
  table(ENTRY, 'entry_id',
    `correlation_id document_id emitted_at entry_id escalation_of facet head_hash idempotency_key kind last_transition_at payload
     row_digest scenario_ref seq source_version_id started_by state_machine_id status trace_id`, ['status', ...RUN_COLUMNS]),
  table(DEPENDENCY, 'dependency_id', 'created_at created_by dependency_id dependency_kind from_entry_id row_digest to_entry_id'),
  table(SWEEP, 'sweep_id',
    `batch_limit created_count prev_digest promoted_count report_summary row_digest scanned_count sweep_id sweep_seq
     sweep_trigger_kind swept_at swept_by`),
  table(ENVELOPE, 'envelope_id',
    `created_at created_by document_id entry_id envelope_id manifest_digest operation_kind profile publication_type rationale
     region_sha reviewed_at reviewer row_digest source_doc_ref source_version_id status tool_revision unit_count unit_kind`),
  table(BLOCK, 'envelope_id unit_local_id',
    `block_role envelope_id parent_local_id proposed_canonical_address region_sha render_order row_digest section_type span_end
     span_start title unit_local_id`),
  table(DECISION, 'review_decision_id',
    `created_at decision_at decision_payload entry_id findings governance_event_kind key_id manifest_id manifest_unit_local_id
     manifest_version prior_review_decision_id review_decision_id review_scope reviewer_class reviewer_identity
     risk_class_assessment row_digest signature status superseded_by_review_decision_id verdict verdict_rationale`,
    ['superseded_by_review_decision_id']),
  table(SIGNATURE, 'signature_id',
    `cross_reference_change_set_id cross_reference_verify_result_id key_id lane_seq payload_envelope payload_hash
     prior_signature_id recorded_at row_digest signature signature_id signature_kind signature_payload signed_at signer_dot_id
     signer_principal signer_tool_revision`),
  table(CHANGE_SET, 'change_set_id',
    `affected_unit_count change_kind change_set_digest change_set_id decision_backlog_entry_id effect_digest emitted_at emitted_by
     executor_signature_id executor_tool_revision manifest_id manifest_version payload_summary review_decision_id rollback_key
     rollback_of_change_set_id rollback_reason row_digest state verifier_signature_id verifier_tool_revision writer_digest`),
  table(AFFECTED, 'affected_row_id',
    `affected_row_id after_state_snapshot before_state_snapshot change_set_id lifecycle_digest operation_kind render_order
     row_digest target_row_id target_table`),
  table(RESULT, 'verify_result_id',
    `axis_1_status axis_2_status canonicalization_rule_used change_set_id escalation_ref executor_signature_id
     executor_tool_revision findings manifest_id manifest_version prior_verify_result_id review_decision_id
     rollback_change_set_id_triggered row_digest state tool_revision_match verdict verified_at verified_by
     verifier_signature_id verifier_tool_revision verify_digest verify_kind verify_result_id`),
  table(REQUEST, 'approval_id',
    `approval_id expires_at facts key_id kind proposer request_payload requested_at risk row_digest signature signed_at
     subject_digest subject_kind subject_ref title`),
  table(VOTE, 'vote_id',
    `approval_id counted_as decision key_id rationale row_digest signature signed_at vote_id vote_payload vote_seq voted_at voter`),
  table(USE, 'approval_id', 'approval_id row_digest used_at used_by used_for_kind used_for_ref'),
  table(REVISION, 'path revision', 'author body created_at kind path revision row_digest sha256'),
  table(UNDER, 'signature_id',
    'key_id meaning path recorded_at revision row_digest signature signature_id signature_payload signed_at signer'),
  table(ORCHESTRATED, 'run_id',
    `correlation_id created_at document_id entry_id facet head_hash last_transition_at row_digest run_id run_name seq
     source_version_id started_by state_code state_machine_id trace_id`, ['state_code', ...RUN_COLUMNS]),
]

export function tableOf(name: string): Table | undefined {
  return TABLES.find((one) => one.name === name)
}

export const LOG_COLUMNS = [
  'actor_class', 'artefact_digest', 'at_micros', 'event_type', 'evidence', 'facet', 'from_state', 'hash', 'idempotency_key', 'key_id',
  'log_id', 'prev_hash', 'principal', 'reason', 'run_id', 'run_kind', 'seq', 'signature', 'state_machine_id', 'to_state', 'transition_id',
  'trigger_kind', 'trigger_ref',
]
export const KEY_COLUMNS = ['key_id', 'principal', 'public_key', 'registered_at_micros', 'revoked_at_micros']
export const PRINCIPAL_COLUMNS = ['kind', 'name']
