-- Who asks for a key shows that they have its private half. Requests of an older release did not; they are refused when they are accepted, and their
-- makers ask again.
alter table identity.key_request add column possession bytea;
comment on column identity.key_request.possession is 'The signature with which the key itself says whose it is; null in requests of older releases.';
