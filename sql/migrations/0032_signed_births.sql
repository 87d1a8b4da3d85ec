-- The signature under a birth covers what the run is born with, for the kinds that are born with something. Which kinds these are was known to
-- the clients and to the audit; now the database rebuilds what is signed and knows it too.
alter table fsm.run_kind_def add column signed_with_data boolean not null default false;
comment on column fsm.run_kind_def.signed_with_data is
  'Whether the signature under a birth covers the facts that the run is born with; where it does not, it covers null in their place.';
update fsm.run_kind_def set signed_with_data = true where run_kind in ('custom', 'cut_request');
