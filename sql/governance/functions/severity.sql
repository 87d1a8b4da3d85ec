-- promise: critical, warning or info for the words that people and programs use; null for anything else.
create or replace function governance.severity(p_word text) returns text
language sql immutable
as $$
  select case
    when lower(btrim(p_word)) in ('critical', 'fatal', 'error') then 'critical'
    when lower(btrim(p_word)) in ('warning', 'warn') then 'warning'
    when lower(btrim(p_word)) in ('info', 'normal', 'notice') then 'info'
  end
$$;
