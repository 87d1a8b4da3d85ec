-- Finding things by what they are called. The functions are in the index, so they are made here; the rules write them again as they are.
-- Lower case without accents, đ is d: what people type when they look for something. After the decomposition only ASCII letters are left to lower.
create function internal.folded(p_text text) returns text
language sql immutable parallel safe
as $$
  select lower(translate(normalize(p_text, nfd), U&'\0110\0111\0300\0301\0302\0303\0304\0306\0308\0309\030A\030C\031B\0323\0327\0328', 'dd') collate "C")
$$;

create function internal.spaced(p_text text) returns text
language sql immutable parallel safe cost 1000
as $$ select '  ' || btrim(regexp_replace(internal.folded(p_text), '[^a-z0-9]+', '  ', 'g')) || ' ' $$;

create function internal.trigrams(p_spaced text) returns text[]
language sql immutable parallel safe cost 10000
as $$ select coalesce(array_agg(distinct substr(p_spaced, i, 3)), '{}') from generate_series(1, length(p_spaced) - 2) i $$;

create index workflow_step_def_search_idx on workflow.workflow_step_def
  using gin (internal.trigrams(internal.spaced(step_key || ' ' || name_en || ' ' || name_vi)));
-- Units come by the thousand in one transaction, so theirs is the cheaper index: beginnings of words.
create index unit_version_search_idx on iu.unit_version using gin (to_tsvector('simple'::regconfig, internal.folded(title)));

-- One sentence for the colour of a run.
insert into config.message (message_key, locale, text) values
  ('rollup.sentence.gray', 'en', 'Nothing has begun; {total} mandatory steps are ahead.'),
  ('rollup.sentence.gray', 'vi', 'Chưa bắt đầu; còn {total} bước bắt buộc phía trước.'),
  ('rollup.sentence.green', 'en', 'All is well: {done} of {total} mandatory steps are done.'),
  ('rollup.sentence.green', 'vi', 'Mọi việc ổn: đã xong {done} trên {total} bước bắt buộc.'),
  ('rollup.sentence.yellow', 'en', '“{step}” holds it up: {state}. {done} of {total} mandatory steps are done.'),
  ('rollup.sentence.yellow', 'vi', '“{step}” đang giữ tiến độ: {state}. Đã xong {done} trên {total} bước bắt buộc.'),
  ('rollup.sentence.red', 'en', '“{step}” needs attention: {state}. {done} of {total} mandatory steps are done.'),
  ('rollup.sentence.red', 'vi', '“{step}” cần xử lý: {state}. Đã xong {done} trên {total} bước bắt buộc.'),
  ('rollup.sentence.hidden_step', 'en', 'a step that you do not see'),
  ('rollup.sentence.hidden_step', 'vi', 'một bước bạn không được xem');
