-- Rewrites fsm.transition_def (some hundred rows) under a moment's lock. The release that brings it compiles the new column.
alter table fsm.transition_def add column data_rule jsonpath;
alter table fsm.transition_def drop column needs_nothing_more;
alter table fsm.transition_def add column asks_for_guards_alone boolean not null generated always as (
  not audit_required and not needs_facet and not proposed and not needs_payload and (emitted_event_type is null or event_active)
  and (guard_ids = '{}' or data_rule is not null or config_rule is not null)) stored;
comment on column fsm.transition_def.data_rule is
  'Compiled: all config rules as one question to the run''s data, where they read nothing else. Then no document has to be built.';
comment on column fsm.transition_def.config_rule is
  'All config rules as one, where there are no others, none reads beyond the run, and data_rule does not ask them already.';
comment on column fsm.transition_def.asks_for_guards_alone is
  'Nothing but trigger, actor and guards stands between a request and this move, and the guards are the one rule here or none.';
