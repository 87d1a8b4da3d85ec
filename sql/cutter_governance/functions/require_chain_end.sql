-- promise: the named signature is the newest of its signer in its lane, and stays it until the transaction ends. Gives its place.
-- locks: the chain (its turn)
-- refuses with: RC009
create or replace function cutter_governance.require_chain_end(p_lane text, p_principal text, p_prior_signature_id uuid) returns bigint
language plpgsql
as $$
declare
  v_end record;
begin
  perform fsm.require_fresh_reads();
  perform internal.take_turn('cutter_governance.lane:' || p_lane || ':' || p_principal);
  select s.signature_id, s.lane_seq into v_end
    from cutter_governance.dot_pair_signature s
   where s.signer_dot_id = p_lane and s.signer_principal = p_principal
   order by s.lane_seq desc limit 1;
  if v_end.signature_id is distinct from p_prior_signature_id then
    perform internal.refuse(internal.problem('RC009', jsonb_build_object(
      'lane', p_lane, 'principal', p_principal, 'prior', p_prior_signature_id, 'newest', v_end.signature_id)));
  end if;
  return coalesce(v_end.lane_seq, 0);
end
$$;
