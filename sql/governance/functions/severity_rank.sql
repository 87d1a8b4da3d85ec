-- promise: 1 for critical, 2 for warning, 3 for anything else: the order in which problems are shown.
create or replace function governance.severity_rank(p_severity text) returns integer
language sql immutable
as $$ select case p_severity when 'critical' then 1 when 'warning' then 2 else 3 end $$;
