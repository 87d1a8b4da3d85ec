-- promise: why a rule could hold although it cannot be answered, or could never be answered; empty when it is one that refuses whatever it
--          cannot answer. Of such a rule each operand is one item or an error, so taking a member away leaves the answer or makes it unknown
--          (docs/decisions/0030-unknown-refuses.md).
-- callers: fsm.rule_problems, fsm.v_compiled_transition, workflow.definition_problems
--
-- The text that PostgreSQL writes has one form for each thing: members in quotes, methods without. But it loses the brackets of (a + b).c, so
-- what the author wrote is looked at too.
create or replace function fsm.rule_form_problems(p_rule text) returns text[]
language plpgsql immutable
as $$
declare
  v_written constant text := regexp_replace(p_rule, E'"(?:[^"\\\\]|\\\\.)*"', '""', 'g');
  v_text text;
  v_bare text;
  v_rest text;
begin
  if not fsm.is_jsonpath(p_rule) then
    return '{no_json_path}';
  end if;
  v_text := regexp_replace(p_rule::jsonpath::text, '^strict ', '');
  v_bare := regexp_replace(v_text, E'"(?:[^"\\\\]|\\\\.)*"', '""', 'g');
  v_rest := regexp_replace(regexp_replace(v_bare, E'\\$(?:\\.""|\\[(?:[0-9]+|last)\\])*', '', 'g'), E'\\.[a-z]+\\(\\)', '', 'g');
  return array(
    select f.name from (values
      ('mode', v_written ~* E'^\\s*(lax|strict)\\M'),
      ('filter', v_bare ~ E'\\?\\('),
      ('wildcard', v_bare ~ E'\\.\\*|\\[\\*\\]'),
      ('exists', v_bare ~ E'\\mexists\\M'),
      ('is_unknown', v_bare ~ E'\\mis unknown\\M'),
      ('variable', v_bare ~ E'\\$""'),
      ('keyvalue', v_bare ~ E'\\.keyvalue\\('),
      ('datetime', v_bare ~ E'\\.datetime\\('),
      ('subscript', v_bare ~ E'\\[(?!([0-9]+|last|\\*)\\])'),
      -- A member of something that is not a place in the document.
      ('computed', v_bare !~ E'\\?\\(' and (v_written ~ E'[^(\\s]\\s*\\)\\s*[.\\[]' or v_rest ~ E'\\.""|\\['
                                         and v_bare !~ E'\\*|\\[(?!([0-9]+|last)\\])|\\$""|\\.(keyvalue|datetime)\\(')),
      ('comment_or_escape', v_written ~ E'/\\*|\\\\'),
      ('no_predicate', not fsm.is_jsonpath('!(' || v_text || ')'))) f (name, found)
     where f.found);
end
$$;
