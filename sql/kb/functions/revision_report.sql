-- promise: what a caller is told about a revision.
create or replace function kb.revision_report(p_revision kb.revision, p_replayed boolean) returns jsonb
language sql stable
as $$
  select jsonb_build_object('path', p_revision.path, 'revision', p_revision.revision, 'kind', p_revision.kind,
                            'sha256', encode(p_revision.sha256, 'hex'), 'author', p_revision.author, 'replayed', p_replayed)
$$;
