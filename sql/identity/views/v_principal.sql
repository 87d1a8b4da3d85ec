create or replace view identity.v_principal with (security_barrier) as
select p.name, p.kind, p.active, p.created_at,
       to_jsonb(p.actor_classes) as actor_classes,
       (select count(*) from identity.signing_key k where k.principal = p.name and k.revoked_at is null) as live_keys
  from identity.principal p;
comment on view identity.v_principal is 'Principals with their classes.';
