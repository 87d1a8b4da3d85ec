-- promise: the digest that an executor signs: which decision on which manifest was applied to which effect.
create or replace function cutter_governance.change_set_digest(
  p_change_set_id uuid, p_entry_id uuid, p_review_decision_id uuid, p_manifest_digest bytea, p_writer_digest bytea, p_effect_digest bytea,
  p_unit_count integer
) returns bytea
language sql immutable
as $$
  select sha256(convert_to(internal.canonical_json(jsonb_build_object(
    'change_set_id', p_change_set_id, 'entry_id', p_entry_id, 'review_decision_id', p_review_decision_id,
    'manifest_digest', encode(p_manifest_digest, 'hex'), 'writer_digest', encode(p_writer_digest, 'hex'), 'effect_digest', encode(p_effect_digest, 'hex'),
    'unit_count', p_unit_count, 'v', 1)), 'UTF8'))
$$;
