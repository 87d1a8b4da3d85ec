create or replace view birth.v_break_glass with (security_barrier) as
select g.break_glass_id, g.collection_name, g.reason, g.approval_id, g.opened_by, g.opened_at, g.expires_at, g.row_digest, g.digest_version
  from birth.break_glass g;
comment on view birth.v_break_glass is 'When births without permits were admitted, why, and on whose approval.';
