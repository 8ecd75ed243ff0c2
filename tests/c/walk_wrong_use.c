/* SPDX-License-Identifier: Apache-2.0 */
/* NULL, wrong sizes and wrong values are statuses, never a crash. */
#include "walk.h"

#include <unistd.h>

static const tracer_string nothing = {NULL, 0};

static void null_outs(tracer_session* session) {
  tracer_error error = TRACER_ERROR_INIT;
  CHECK(tracer_session_new(NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_finished(session, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_queue(session, NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_subscribe(session, 0, NULL, NULL, NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_label_thread(session, NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_announce(session, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_statistics(session, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_host(session, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_living(session, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_session_families(session, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_check(NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_error_problem(&error, 0, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
}

static void null_handles(void) {
  uint8_t flag = 0;
  uint64_t number = 0;
  int64_t code = 0;
  size_t count = 0;
  int status = 0;
  tracer_string text = nothing;
  tracer_text* json = NULL;
  tracer_list* list = NULL;
  tracer_queue* queue = NULL;
  tracer_sink* sink = NULL;
  tracer_event* event = NULL;
  tracer_recording* recording = NULL;
  tracer_command* command = NULL;
  const tracer_status bad = TRACER_ERROR_INVALID_ARGUMENT;
  CHECK(tracer_session_start(NULL, NULL) == bad && tracer_session_stop(NULL, NULL) == bad);
  CHECK(tracer_session_request_stop(NULL) == bad && tracer_session_finished(NULL, &flag) == bad);
  CHECK(tracer_session_fd(NULL) == -1 && tracer_session_dispatch(NULL, 0, NULL) == bad);
  CHECK(tracer_session_wake(NULL) == bad && tracer_session_flush(NULL, 0, NULL) == bad);
  CHECK(tracer_session_track(NULL, 1, NULL, NULL) == bad && tracer_session_unlabel_thread(NULL) == bad);
  CHECK(tracer_session_dispatch_until_ended(NULL, NULL, 0, NULL) == bad);
  CHECK(tracer_session_families(NULL, &list, NULL) == bad && tracer_session_totals(NULL, &list, NULL) == bad);
  CHECK(tracer_session_losses(NULL, &list, NULL) == bad && tracer_session_explain(NULL, &list, NULL) == bad);
  CHECK(tracer_session_rule_problems(NULL, &list, NULL) == bad &&
        tracer_session_queue(NULL, NULL, &queue, NULL) == bad);
  CHECK(tracer_session_record(NULL, text, NULL, &sink, NULL) == bad);
  CHECK(tracer_session_record_fd(NULL, 1, text, NULL, &sink, NULL) == bad);
  CHECK(tracer_session_write_json(NULL, text, NULL, &sink, NULL) == bad);
  CHECK(tracer_session_write_json_fd(NULL, 1, text, NULL, &sink, NULL) == bad);
  CHECK(tracer_label_resume(NULL) == bad && tracer_label_end(NULL) == bad);
  CHECK(tracer_queue_read(NULL, NULL, 0) == bad && tracer_queue_wait(NULL, 0, NULL) == bad);
  CHECK(tracer_queue_fd(NULL) == -1 && tracer_queue_ended(NULL, &flag) == bad);
  CHECK(tracer_queue_dropped(NULL, &number) == bad && tracer_sink_dropped(NULL, &number) == bad);
  CHECK(tracer_sink_problem(NULL, NULL) == bad && tracer_sink_flush(NULL, 0, NULL) == bad);
  CHECK(tracer_recording_open(nothing, &recording, NULL) == bad && tracer_recording_read(NULL, NULL, 0, NULL) == bad);
  CHECK(tracer_recording_host(NULL, NULL) == bad && tracer_recording_damage(NULL, NULL) == bad);
  CHECK(tracer_command_new(NULL, &command, NULL) == bad && tracer_command_release(NULL, NULL) == bad);
  CHECK(tracer_command_ended(NULL, &status) == bad && tracer_command_signal(NULL, 0) == bad);
  CHECK(tracer_command_trace_saw(NULL, NULL) == 0 && tracer_command_trace_ended(NULL) == 0);
  CHECK(tracer_command_trace_argv(NULL, &list, NULL) == bad);
  CHECK(tracer_event_copy(NULL) == NULL && tracer_event_get_kind(NULL) == 0 && tracer_event_get_time_ns(NULL) == 0);
  CHECK(tracer_event_get_u64(NULL, 1, &number) == bad && tracer_event_get_i64(NULL, 1, &code) == bad);
  CHECK(tracer_event_get_bool(NULL, 1, &flag) == bad && tracer_event_get_string(NULL, 1, &text) == bad);
  CHECK(tracer_event_get_count(NULL, 1, &count) == bad && tracer_event_get_string_at(NULL, 1, 0, &text) == bad);
  CHECK(tracer_event_get_u64_at(NULL, 1, 0, &number) == bad && tracer_event_get_i64_at(NULL, 1, 0, &code) == bad);
  CHECK(tracer_event_get_flat(NULL, NULL) == bad && tracer_event_to_json(NULL, &json, NULL) == bad);
  CHECK(tracer_event_explain(NULL, nothing, &list, NULL) == bad);
  CHECK(tracer_resolve_process(0, nothing, &event, NULL) != TRACER_OK && event == NULL);
  CHECK(tracer_list_string(NULL, 0, &text) == bad && tracer_error_problem(NULL, 0, NULL) == bad);
  CHECK(tracer_event_buffer_count(NULL) == 0 && tracer_event_buffer_get(NULL, 0) == NULL);
}

static void null_frees(void) {
  tracer_session_free(NULL);
  tracer_subscription_free(NULL);
  tracer_queue_free(NULL);
  tracer_sink_free(NULL);
  tracer_label_free(NULL);
  tracer_recording_free(NULL);
  tracer_event_buffer_free(NULL);
  tracer_event_free(NULL);
  tracer_list_free(NULL);
  tracer_text_free(NULL);
  tracer_command_free(NULL);
  tracer_command_trace_free(NULL);
}

static tracer_status made_with(const tracer_session_options* options) {
  tracer_session* session = NULL;
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_status status = tracer_session_new(options, &session, &error);
  CHECK((status == TRACER_OK) == (session != NULL) && error.status == status);
  tracer_error_release(&error);
  tracer_session_free(session);
  return status;
}

/* Older and newer callers, and such as forgot it. */
static void sizes(void) {
  struct {
    tracer_session_options known;
    uint64_t later;
  } newer;
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  newer.known.recording = tracer_string_of(recorded_file());
  CHECK(made_with(&newer.known) == TRACER_OK);
  newer.later = 1;
  CHECK(made_with(&newer.known) == TRACER_WRONG_SIZE);
  newer.known.size = 0;
  CHECK(made_with(&newer.known) == TRACER_WRONG_SIZE);
  newer.known.size = sizeof(size_t);
  CHECK(made_with(&newer.known) == TRACER_WRONG_SIZE);
  newer.known.size = SIZE_MAX;
  CHECK(made_with(&newer.known) == TRACER_WRONG_SIZE);
  tracer_statistics statistics;
  memset(&statistics, 0, sizeof statistics);
  tracer_session* session = replay(TRACER_READER_POLL);
  CHECK(tracer_session_statistics(session, &statistics, NULL) == TRACER_WRONG_SIZE);
  tracer_session_free(session);
}

static tracer_status ruled(tracer_filter_rule rule) {
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.recording = tracer_string_of(recorded_file());
  options.rules = &rule;
  options.rule_count = 1;
  return made_with(&options);
}

static void values(void) {
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.recording = tracer_string_of(recorded_file());
  options.reader = 7;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.reader = 0;
  options.families = 64;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.families = 0;
  options.recording = tracer_string_of("/no/such/file");
  CHECK(made_with(&options) == TRACER_ERROR_FILE_UNREADABLE);
  options.recording.data = NULL;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.recording = nothing;
  options.ring_bytes = 12345;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.ring_bytes = 0;
  options.tool_rules = tracer_string_of("/no/such/file");
  CHECK(made_with(&options) == TRACER_ERROR_FILE_UNREADABLE);
  options.tool_rules = nothing;
  options.rule_count = 1;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);

  tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
  for (uint32_t exclude = 0; exclude < 2; ++exclude)
    for (tracer_filter_subject subject = TRACER_FILTER_CGROUP; subject <= TRACER_FILTER_ARGUMENT; ++subject) {
      rule.subject = subject;
      rule.exclude = exclude;
      rule.text = tracer_string_of("/x");
      CHECK(ruled(rule) == TRACER_OK);
    }
  rule.subject = 0;
  CHECK(ruled(rule) == TRACER_ERROR_INVALID_ARGUMENT);
  rule.subject = TRACER_FILTER_TREE;
  rule.number = UINT64_MAX;
  CHECK(ruled(rule) == TRACER_ERROR_INVALID_ARGUMENT);
  rule.size = 1;
  CHECK(ruled(rule) == TRACER_WRONG_SIZE);

  tracer_session* session = replay(TRACER_READER_POLL);
  const tracer_event_kind unknown = 999;
  tracer_queue_options queue = TRACER_QUEUE_OPTIONS_INIT;
  queue.kinds = &unknown;
  queue.kind_count = 1;
  tracer_queue* made = NULL;
  CHECK(tracer_session_queue(session, &queue, &made, NULL) == TRACER_ERROR_INVALID_ARGUMENT && made == NULL);
  null_outs(session);
  tracer_session_free(session);
}

void walk_wrong_use(void) {
  null_handles();
  null_frees();
  sizes();
  values();
}
