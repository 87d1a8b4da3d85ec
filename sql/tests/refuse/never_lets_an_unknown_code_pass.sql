-- claim: refusing with nothing, or with a code nobody knows, still stops the caller.
select t.refused('P0002', $$select internal.refuse('[{"code": "RS999"}]')$$);
select t.refused('P0002', $$select internal.refuse('[]')$$);
select t.refused('P0002', $$select internal.refuse(null)$$);
