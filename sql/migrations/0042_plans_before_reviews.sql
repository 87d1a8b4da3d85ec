-- A document that is added and a request that is marked say what the cut would make. The release that brings this makes both functions with one
-- parameter more; what they were is dropped, so that a call finds one function of its name.
drop function if exists iu.fn_source_add(text, text, text, bytea, text);
drop function if exists cutter_governance.fn_mark(uuid, text, jsonb, uuid[], text, text, text, text, text, uuid, bytea);
