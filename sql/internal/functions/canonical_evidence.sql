-- promise: internal.canonical_json of a value whose text is given with it, with a short way for what evidence mostly is: nothing,
--          or one text under one name. Where the text has four quotation marks and no backslash, so that every mark is one of JSON's
--          own, and the second and third stand around a colon and a blank, all that has to go is that blank. (A name that is
--          itself a colon and a blank would be taken for the place between name and value.)
-- (The literal with the backslash is E'' so that it means the same whatever standard_conforming_strings says.)
-- Why no regular expression: it builds its automaton anew in each call, which cost some 10 µs a move. Why the text is a parameter:
-- the planner inlines this, and would write it out anew wherever it is named.
create or replace function internal.canonical_evidence(p_value jsonb, p_text text) returns text
language sql immutable parallel safe
as $$
  select case
    when p_text like '{"%": "%"}' and p_text not like '{"%"%"%"%"%' and p_text not like E'%\\\\%' and p_text not like '{": "%'
      then replace(p_text, '": "', '":"')
    when p_text = '{}' then p_text
    else internal.canonical_json(p_value)
  end
$$;
