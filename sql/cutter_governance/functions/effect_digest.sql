-- promise: the digest of everything that a change set did, in order: SHA-256 over the canonical array of its snapshots.
create or replace function cutter_governance.effect_digest(p_change_set_id uuid) returns bytea
language sql stable
as $$
  select sha256(convert_to('[' || coalesce(string_agg(a.after_state_snapshot, ',' order by a.render_order), '') || ']', 'UTF8'))
    from cutter_governance.cut_change_set_affected_row a where a.change_set_id = p_change_set_id
$$;
