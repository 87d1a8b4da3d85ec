-- Locks the tables of runs, of the log and of refused events against writing while indexes are made over them: some seconds for each
-- million rows.

-- What governance looks for, without looking at everything. The state stands in no index of steps, tasks and jobs: each move would have to
-- write it. Live work is found by its run instead.
create index workflow_run_live_idx on workflow.workflow_run (created_at) where state_code not in ('completed', 'cancelled');
create index timer_workflow_run_idx on workflow.timer (workflow_run_id) where workflow_run_id is not null;
create index entry_failed_idx on cutter_governance.decision_backlog_entry (last_transition_at) where status = 'verify_failed_escalated';
create index orchestrator_run_failed_idx on orchestrator.run (last_transition_at) where starts_with(state_code, 'failed_');
create index event_validation_audit_at_idx on event.event_validation_audit (at);

-- A trace across the rooms. A run's trace never changes, so only births write these.
create index run_trace_idx on fsm.run (trace_id);
create index workflow_run_trace_idx on workflow.workflow_run (trace_id);
create index entry_trace_idx on cutter_governance.decision_backlog_entry (trace_id);
create index orchestrator_run_trace_idx on orchestrator.run (trace_id);
create index issue_trace_idx on governance.system_issues (trace_id);
create index dead_letter_trace_idx on queue.job_dead_letter (trace_id);
-- Jobs that the log knows; the others have no rows there.
create index job_queue_logged_trace_idx on queue.job_queue (trace_id) where seq > 0;
create index replay_trace_idx on queue.dlq_replay_request (trace_id);
create index change_request_trace_idx on workflow.workflow_change_requests (trace_id);
create index proposal_trace_idx on governance.proposal (trace_id);
create index permit_trace_idx on birth.birth_admission_permit (trace_id);
create index candidate_trace_idx on governance.governance_candidate_state (trace_id);

-- A window of time. These tables are written in the order of time, so a summary of each stretch of pages is enough, and costs a move
-- next to nothing.
create index transition_log_at_idx on fsm.transition_log using brin (at) with (pages_per_range = 32, autosummarize = on);
create index lifecycle_log_at_idx on iu.iu_lifecycle_log using brin (at) with (pages_per_range = 32, autosummarize = on);
create index job_finished_at_idx on queue.job_finished using brin (finished_at) with (pages_per_range = 32, autosummarize = on);
create index identity_log_at_idx on identity.identity_log (at);
create index approval_request_at_idx on approval.approval_request (requested_at);
-- What an approval is about, as the timeline of a run asks for it.
create index approval_request_run_idx on approval.approval_request (
  (case when subject_ref ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then subject_ref::uuid end));
create index approval_vote_at_idx on approval.approval_vote (voted_at);
create index step_decision_at_idx on workflow.step_decision (decided_at);
create index heartbeat_series_at_idx on queue.heartbeat_series (at);

create table governance.status_summary (
  summary_id uuid primary key,
  category text not null,
  subject text not null,
  state text not null,
  text_en text not null,
  text_vi text not null,
  facts internal.canonical_object not null,
  source_event_count bigint not null,
  source_event_total bigint not null,
  source_event_refs text[] not null,
  window_start timestamptz not null,
  window_end timestamptz not null,
  summarizer_kind text not null,
  summarizer_ref text not null,
  summarizer_version text not null,
  confidence numeric,
  low_confidence boolean not null,
  trace_id text,
  prior_summary_id uuid references governance.status_summary (summary_id),
  resolved_by_event_id uuid,
  put_by text not null references identity.principal (name),
  idempotency_key text not null unique,
  created_at timestamptz not null,
  row_digest bytea not null,
  constraint summary_category_is_known check (category in (
    'dlq', 'silent_worker', 'overdue_step', 'schema_violation', 'event_lag', 'integrity', 'failed_cut', 'orphan_workflow', 'executors')),
  constraint summary_subject_is_named check (btrim(subject) <> '' and octet_length(subject) <= 500),
  constraint summary_state_is_known check (state in ('green', 'yellow', 'red')),
  constraint summary_says_something check (btrim(text_en) <> '' and btrim(text_vi) <> ''),
  constraint summary_has_sources check (
    source_event_count >= 1 and cardinality(source_event_refs) between 1 and 100 and source_event_count >= cardinality(source_event_refs)
    and source_event_total >= source_event_count),
  constraint summary_window_is_forward check (window_end >= window_start),
  constraint summarizer_kind_is_known check (summarizer_kind in ('sql_fn', 'ai_agent', 'deterministic_rule')),
  constraint summary_confidence_is_a_share check (confidence between 0 and 1),
  constraint summary_of_ai_says_how_sure check (summarizer_kind <> 'ai_agent' or confidence is not null),
  constraint summary_unsure_is_not_green_again check (not (low_confidence and resolved_by_event_id is not null))
);
create index status_summary_subject_idx on governance.status_summary (category, subject, created_at desc, summary_id desc);
create index status_summary_created_idx on governance.status_summary (created_at);
comment on table governance.status_summary is
  'What is said in one line about a category or an executor class, with what it rests on. The newest of a subject holds.';
comment on column governance.status_summary.subject is '* for the whole category, otherwise an item of it; the class for executors.';
comment on column governance.status_summary.source_event_refs is
  'event:ID, log:RUN/SEQ, job:ID, heartbeat:CLASS/WORKER, refused:ID; the first hundred. All of them are counted in source_event_total.';
comment on column governance.status_summary.resolved_by_event_id is 'The event that ended the problem, where the summary before it was red or yellow and this one is green.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('governance.status_summary', '{}', 'what was said about categories and classes, and what it rested on');

update config.dot_config set value = value || '["governance.status_summary"]' where key = 'orchestrator.backup.tables';

insert into config.dot_config (key, value, description) values
  ('problems.window_seconds.dlq', '31536000', 'Dead letters that died longer ago are no longer shown as problems. They stay in the queue.'),
  ('problems.window_seconds.schema_violation', '604800', 'Refused events are shown as problems for so long.'),
  ('problems.window_seconds.integrity', '604800', 'Units that changed this recently are compared with their lifecycle log.'),
  ('problems.critical_after_seconds.overdue_step', '86400', 'What is past its deadline for longer than this is critical.'),
  ('problems.list.max_items', '500', 'So many items are given in one page at most.'),
  ('audit.timeline.max_days', '31', 'A timeline without a trace and without an entity covers at most so many days.'),
  ('audit.timeline.max_items', '1000', 'So many rows of a timeline are given in one page at most.'),
  ('summary.window_seconds', '300', 'A summary of an executor class covers so many seconds.'),
  ('summary.check_days', '7', 'Summaries of so many days are looked at again by the sentinel.'),
  ('ai_summary.min_confidence.default', '0.6', 'A summary of an agent that is less sure is flagged and ends no problem. Per category: ai_summary.min_confidence.CATEGORY.');

insert into config.message (message_key, locale, text) values
  ('problem.dlq.name', 'en', 'Dead letters'), ('problem.dlq.name', 'vi', 'Thư chết'),
  ('problem.silent_worker.name', 'en', 'Silent workers'), ('problem.silent_worker.name', 'vi', 'Bộ xử lý im lặng'),
  ('problem.overdue_step.name', 'en', 'Overdue steps'), ('problem.overdue_step.name', 'vi', 'Bước trễ hạn'),
  ('problem.schema_violation.name', 'en', 'Schema violations'), ('problem.schema_violation.name', 'vi', 'Vi phạm lược đồ'),
  ('problem.event_lag.name', 'en', 'Event lag'), ('problem.event_lag.name', 'vi', 'Sự kiện chậm'),
  ('problem.integrity.name', 'en', 'Integrity warnings'), ('problem.integrity.name', 'vi', 'Cảnh báo toàn vẹn'),
  ('problem.failed_cut.name', 'en', 'Failed cuts'), ('problem.failed_cut.name', 'vi', 'Lần cắt thất bại'),
  ('problem.orphan_workflow.name', 'en', 'Orphan workflows'), ('problem.orphan_workflow.name', 'vi', 'Quy trình mồ côi'),

  ('problem.dlq.title', 'en', '{kind} of {class} could not be done: {reason}'),
  ('problem.dlq.title', 'vi', '{kind} của {class} không làm được: {reason}'),
  ('problem.silent_worker.title', 'en', '{class} {worker} says nothing'),
  ('problem.silent_worker.title', 'vi', '{class} {worker} không lên tiếng'),
  ('problem.overdue_step.title', 'en', '{name_en} in {workflow} is past its deadline'),
  ('problem.overdue_step.title', 'vi', '{name_vi} trong {workflow} đã quá hạn'),
  ('problem.schema_violation.title', 'en', 'Event {type} was refused with {code}'),
  ('problem.schema_violation.title', 'vi', 'Sự kiện {type} bị từ chối với {code}'),
  ('problem.event_lag.title', 'en', 'Events of {producer} reach {consumer} late'),
  ('problem.event_lag.title', 'vi', 'Sự kiện của {producer} đến {consumer} muộn'),
  ('problem.integrity.title', 'en', 'Unit {address} is {is}, its log says {log}'),
  ('problem.integrity.title', 'vi', 'Đơn vị {address} là {is}, nhật ký ghi {log}'),
  ('problem.failed_cut.title', 'en', '{what} of {document} ended in {state}'),
  ('problem.failed_cut.title', 'vi', '{what} của {document} kết thúc ở {state}'),
  ('problem.orphan_workflow.title', 'en', '{workflow} runs and nothing moves it: {cause}'),
  ('problem.orphan_workflow.title', 'vi', '{workflow} đang chạy nhưng không còn gì đưa nó đi tiếp: {cause}'),
  ('problem.finding.title', 'en', '{title}'), ('problem.finding.title', 'vi', 'Phát hiện: {title}'),

  ('problem.dlq.what_to_do', 'en', 'Look at the reason, mend its cause, then propose a replay, or set the letter aside with a reason.'),
  ('problem.dlq.what_to_do', 'vi', 'Xem lý do, sửa nguyên nhân, rồi đề xuất chạy lại hoặc gạt bỏ thư với lý do.'),
  ('problem.silent_worker.what_to_do', 'en', 'See whether its process lives and start it again. It recovers by its own next tick.'),
  ('problem.silent_worker.what_to_do', 'vi', 'Kiểm tra tiến trình còn sống không và khởi động lại. Nó hồi phục bằng nhịp tiếp theo của chính nó.'),
  ('problem.overdue_step.what_to_do', 'en', 'Ask the person in charge, resolve what it waits for, or extend the deadline with a reason.'),
  ('problem.overdue_step.what_to_do', 'vi', 'Hỏi người phụ trách, giải quyết điều đang chờ, hoặc gia hạn với lý do.'),
  ('problem.schema_violation.what_to_do', 'en', 'Mend the sender, or declare the event type in its machine before it is emitted.'),
  ('problem.schema_violation.what_to_do', 'vi', 'Sửa bên gửi, hoặc khai báo loại sự kiện trong máy trạng thái trước khi phát.'),
  ('problem.event_lag.what_to_do', 'en', 'See whether the consumer runs and keeps up; old open transactions hold the sequencer back.'),
  ('problem.event_lag.what_to_do', 'vi', 'Kiểm tra bên nhận có chạy và theo kịp không; giao dịch mở lâu giữ chân bộ đánh số.'),
  ('problem.integrity.what_to_do', 'en', 'Look before anything else goes on: run `chancery audit verify`, then answer the finding.'),
  ('problem.integrity.what_to_do', 'vi', 'Xem xét trước khi làm tiếp: chạy `chancery audit verify`, rồi trả lời phát hiện.'),
  ('problem.failed_cut.what_to_do', 'en', 'Read the verdict, follow the escalation, then abandon the entry or void the run.'),
  ('problem.failed_cut.what_to_do', 'vi', 'Đọc kết luận, theo dõi yêu cầu chuyển cấp, rồi bỏ mục này hoặc huỷ lần chạy.'),
  ('problem.orphan_workflow.what_to_do', 'en', 'Retry or settle the step that stopped it, or have the run called off.'),
  ('problem.orphan_workflow.what_to_do', 'vi', 'Thử lại hoặc xử lý bước đã dừng, hoặc huỷ lần chạy.'),

  ('problems.headline.none', 'en', 'No problems. Checked just now.'), ('problems.headline.none', 'vi', 'Không có vấn đề. Vừa kiểm tra.'),
  ('problems.headline.none_seen', 'en', 'No problems among what you may see. Checked just now.'),
  ('problems.headline.none_seen', 'vi', 'Không có vấn đề trong phần bạn được xem. Vừa kiểm tra.'),
  ('problems.headline.one', 'en', '1 problem: {title}, {age}.'), ('problems.headline.one', 'vi', '1 vấn đề: {title}, {age}.'),
  ('problems.headline.some', 'en', '{n} problems. Worst: {title}, {age}.'), ('problems.headline.some', 'vi', '{n} vấn đề. Nặng nhất: {title}, {age}.'),
  ('problems.headline.group', 'en', '{title} ({n} alike)'), ('problems.headline.group', 'vi', '{title} ({n} vấn đề giống nhau)'),
  ('age.now', 'en', 'just now'), ('age.now', 'vi', 'vừa xong'),
  ('age.minute', 'en', 'a minute ago'), ('age.minute', 'vi', '1 phút trước'),
  ('age.minutes', 'en', '{n} minutes ago'), ('age.minutes', 'vi', '{n} phút trước'),
  ('age.hour', 'en', 'an hour ago'), ('age.hour', 'vi', '1 giờ trước'),
  ('age.hours', 'en', '{n} hours ago'), ('age.hours', 'vi', '{n} giờ trước'),
  ('age.day', 'en', 'a day ago'), ('age.day', 'vi', '1 ngày trước'),
  ('age.days', 'en', '{n} days ago'), ('age.days', 'vi', '{n} ngày trước'),

  ('summary.executors.green', 'en', 'OK, {jobs} jobs / {errors} errors / lag {lag} s p95'),
  ('summary.executors.green', 'vi', 'Tốt, {jobs} việc / {errors} lỗi / trễ {lag} s p95'),
  ('summary.executors.yellow', 'en', 'Unclear, {jobs} jobs / {errors} errors / lag {lag} s p95'),
  ('summary.executors.yellow', 'vi', 'Chưa rõ, {jobs} việc / {errors} lỗi / trễ {lag} s p95'),
  ('summary.executors.red', 'en', 'Trouble, {jobs} jobs / {errors} errors / lag {lag} s p95'),
  ('summary.executors.red', 'vi', 'Có vấn đề, {jobs} việc / {errors} lỗi / trễ {lag} s p95'),
  ('summary.category.green', 'en', '{name}: none'), ('summary.category.green', 'vi', '{name}: không có'),
  ('summary.category.yellow', 'en', '{name}: {n}, none of them critical'), ('summary.category.yellow', 'vi', '{name}: {n}, không có vấn đề nghiêm trọng'),
  ('summary.category.red', 'en', '{name}: {n}, {critical} critical'), ('summary.category.red', 'vi', '{name}: {n}, {critical} nghiêm trọng')
on conflict (message_key, locale) do nothing;
