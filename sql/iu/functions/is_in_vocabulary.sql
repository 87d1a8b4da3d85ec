-- promise: whether a word stands in a vocabulary of config.dot_config (vocab.<vocabulary>.<word>).
create or replace function iu.is_in_vocabulary(p_vocabulary text, p_word text) returns boolean
language sql stable
as $$ select exists (select from config.dot_config c where c.key = 'vocab.' || p_vocabulary || '.' || p_word) $$;
