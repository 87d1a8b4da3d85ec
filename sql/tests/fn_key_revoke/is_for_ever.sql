-- claim: a revoked key keeps its first reason and cannot be given back by hand.
set local role chancery_definer;
select identity.register_key('00000000-0000-0000-0000-000000000001', 'worker', decode(repeat('01', 32), 'hex'), null, null);
reset role;
select t.equal(identity.fn_key_revoke('00000000-0000-0000-0000-000000000001', 'lost') ->> 'revoke_reason', 'lost');
select t.equal(identity.fn_key_revoke('00000000-0000-0000-0000-000000000001', 'another') ->> 'revoke_reason', 'lost');
select t.refused('RI013', $$select identity.fn_key_revoke('00000000-0000-0000-0000-000000000001', null)$$);
select t.refused('RI005', $$select identity.fn_key_revoke(null, 'lost')$$);
set local role chancery_definer;
select t.refused('RS016', $$update identity.signing_key set revoked_at = null, revoke_reason = null$$);
