-- The guards of the machine cut_request, under the names of seed B. Registered anew with every release.
select fsm.fn_guard_register('G-MARK-IDEM', 'cutter_governance.guard_mark_idem', '{}', 'No other request was marked under this idempotency key.');
select fsm.fn_guard_register('G-ESCALATES-FAILURE', 'cutter_governance.guard_escalates_failure', '{}', 'The escalation follows a verification of the entry it names.');
select fsm.fn_guard_register('G-REVIEW-MANIFEST', 'cutter_governance.guard_review_manifest', '{}', 'The decision names a manifest and unit block written in the same transaction.');
select fsm.fn_guard_register('G-REVIEW-AUTH', 'cutter_governance.guard_review_auth', '{}', 'The reviewer holds the review authority and is not the one who marked the request.');
select fsm.fn_guard_register('G-CUT-APPROVED', 'cutter_governance.guard_cut_approved', '{review_decision}', 'The manifest has a decision that approves it and is not superseded.');
select fsm.fn_guard_register('G-CUT-DEPS', 'cutter_governance.guard_cut_deps', '{dependencies}', 'Every request this one depends on is verified_complete.');
select fsm.fn_guard_register('G-CUT-ONCE', 'cutter_governance.guard_cut_once', '{review_decision}', 'The approved decision has no change set yet that stands.');
select fsm.fn_guard_register('G-VERIFY-CUT', 'cutter_governance.guard_verify_cut', '{change_set}', 'A change set exists, and the signature of its executor holds for its content.');
select fsm.fn_guard_register('G-VERIFY-SOD', 'cutter_governance.guard_verify_sod', '{change_set}', 'The verifier is not the executor and signs with a key of its own.');
