create or replace view identity.v_session with (security_barrier) as
select s.session_id, s.principal, s.how, s.opened_at, s.expires_at, s.ended_at from identity.session s;
comment on view identity.v_session is 'Sessions without what they are recognised by.';
