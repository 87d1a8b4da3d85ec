-- Evidence, closed to the owners as well. See internal/triggers.sql for what holds for every table.
create or replace trigger identity_log_only_by_the_doors before insert on identity.identity_log
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
create or replace trigger identity_log_is_append_only before update or delete on identity.identity_log
  for each row execute function internal.refuse_direct_write('RS016');
alter table identity.identity_log enable always trigger identity_log_only_by_the_doors;
alter table identity.identity_log enable always trigger identity_log_is_append_only;

-- A key keeps its bytes, its owner and its time; the one thing that can happen to it is to be revoked, once.
create or replace trigger signing_key_is_only_ever_revoked before update on identity.signing_key
  for each row when (
    current_user::text <> 'chancery_definer' or old.revoked_at is not null
    or old.key_id is distinct from new.key_id or old.principal is distinct from new.principal
    or old.public_key is distinct from new.public_key or old.registered_at is distinct from new.registered_at
    or old.supersedes is distinct from new.supersedes)
  execute function internal.refuse_direct_write('RS016');
create or replace trigger signing_key_is_never_deleted before delete on identity.signing_key
  for each row execute function internal.refuse_direct_write('RS016');
create or replace trigger signing_key_only_by_the_door before insert on identity.signing_key
  for each row when (current_user::text <> 'chancery_definer') execute function internal.refuse_direct_write('RS016');
alter table identity.signing_key enable always trigger signing_key_is_only_ever_revoked;
alter table identity.signing_key enable always trigger signing_key_is_never_deleted;
alter table identity.signing_key enable always trigger signing_key_only_by_the_door;
