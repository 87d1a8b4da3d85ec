-- claim: a signature is as old as the setting allows, to the microsecond.
create or replace function internal.now() returns timestamptz language sql as $$ select timestamptz '2026-10-15 14:18:02Z' $$;
select t.equal((identity.signed_time_problem(internal.micros(internal.now()) + skew) -> 0 ->> 'code'), code)
  from (values (0::bigint, null), (300000000, null), (-300000000, null), (300000001, 'RC010'), (-300000001, 'RC010'),
               (null, 'RC010'), (9000000000000000, 'RC010')) c (skew, code);
