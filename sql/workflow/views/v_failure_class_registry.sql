create or replace view workflow.v_failure_class_registry with (security_barrier) as
select t.failure_class, t.classification, t.description
  from workflow.failure_class_registry t;
comment on view workflow.v_failure_class_registry is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
