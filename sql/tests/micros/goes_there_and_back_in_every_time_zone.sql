-- claim: a time survives the way into microseconds and back, whatever the session is set to.
set local timezone = 'Asia/Ho_Chi_Minh';
select t.equal(internal.micros(at)::text, '1792073882123456'), t.equal(internal.micros(internal.from_micros(internal.micros(at)))::text, '1792073882123456')
  from (values (timestamptz '2026-10-15 14:18:02.123456+00')) moment (at);
set local timezone = 'America/New_York';
set local datestyle = 'SQL, DMY';
select t.equal(internal.micros(internal.from_micros(n))::text, n::text)
  from (values (1792073882123456::bigint), (0), (1), (-1), (9007199254740991)) number (n);
