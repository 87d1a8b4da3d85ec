-- claim: calling it again makes nothing more, asking for one day more makes one more of each table that lies in days.
select event.fn_ensure_partitions(7);
select t.equal(event.fn_ensure_partitions(7)::text, '0');
select t.equal(event.fn_ensure_partitions(8)::text, (select count(*)::text from config.partitioned_table where key_kind <> 'million'));
select t.equal(event.fn_ensure_partitions(8)::text, '0');
-- Nothing can be emptied behind the table's back.
select t.equal(count(*)::text, '0')
  from pg_partition_tree('event.event_outbox') p
 where not exists (select from pg_trigger t where t.tgrelid = p.relid and t.tgname = 'is_never_emptied' and t.tgenabled = 'A');
