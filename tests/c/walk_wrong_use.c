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
  tracer_writer* writer = NULL;
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
  CHECK(tracer_queue_read(NULL, NULL, 0, NULL) == bad && tracer_queue_wait(NULL, 0, NULL) == bad);
  CHECK(tracer_queue_fd(NULL) == -1 && tracer_queue_ended(NULL, &flag) == bad);
  CHECK(tracer_queue_dropped(NULL, &number) == bad && tracer_sink_dropped(NULL, &number) == bad);
  CHECK(tracer_sink_close(NULL, NULL) == bad);
  CHECK(tracer_sink_problem(NULL, NULL) == bad && tracer_sink_flush(NULL, 0, NULL) == bad);
  CHECK(tracer_recording_open(nothing, &recording, NULL) == bad && tracer_recording_read(NULL, NULL, 0, NULL) == bad);
  CHECK(tracer_recording_host(NULL, NULL) == bad && tracer_recording_damage(NULL, NULL) == bad);
  CHECK(tracer_writer_new(nothing, NULL, &writer, NULL) == bad && tracer_writer_write(NULL, NULL, NULL) == bad);
  CHECK(tracer_writer_flush(NULL, NULL) == bad && tracer_writer_close(NULL, NULL) == bad);
  CHECK(tracer_host_get(NULL, NULL) == bad && tracer_list_host(NULL, 0, NULL) == bad);
  CHECK(tracer_table_find(tracer_string_of("tasks"), NULL) == bad);
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
  CHECK(tracer_process_resolve(0, NULL, &event, NULL) != TRACER_OK && event == NULL);
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
  tracer_writer_free(NULL);
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

/* What nobody would read is refused: it can get a meaning later, and whoever passes it means something. */
static void ignored(void) {
  tracer_context context = TRACER_CONTEXT_INIT;
  context.sample = tracer_string_of("S1");
  for (uint32_t exclude = 0; exclude < 2; ++exclude)
    for (tracer_filter_subject subject = TRACER_FILTER_TREE; subject <= TRACER_FILTER_ARGUMENT; ++subject) {
      const int by_number = subject == TRACER_FILTER_TREE || subject == TRACER_FILTER_UID;
      const int labeled = !exclude && subject <= TRACER_FILTER_CGROUP;
      tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
      rule.subject = subject;
      rule.exclude = exclude;
      rule.context = &context;
      if (by_number)
        rule.number = (uint64_t)getpid();
      else
        rule.text = tracer_string_of("/x");
      CHECK(ruled(rule) == (labeled ? TRACER_OK : TRACER_ERROR_INVALID_ARGUMENT));
      rule.context = NULL;
      rule.number = (uint64_t)getpid();
      rule.text = tracer_string_of("/x");
      CHECK(ruled(rule) == TRACER_ERROR_INVALID_ARGUMENT);
    }
  tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
  rule.subject = TRACER_FILTER_UID;
  rule.exclude = 2;
  CHECK(ruled(rule) == TRACER_ERROR_INVALID_ARGUMENT);
  rule.subject = TRACER_FILTER_TREE;
  rule.exclude = 0;
  rule.context = &context;
  context.reserved = 1;
  CHECK(ruled(rule) == TRACER_WRONG_SIZE);

  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.recording = tracer_string_of(recorded_file());
  options.keep_secrets = 2;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.keep_secrets = 0;
  options.skip_engine_notes = 2;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.skip_engine_notes = 0;
  options.hash_paths = 2;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);

  tracer_session* session = replay(TRACER_READER_POLL);
  tracer_queue_options queue = TRACER_QUEUE_OPTIONS_INIT;
  tracer_queue* made = NULL;
  queue.apart = 2;
  CHECK(tracer_session_queue(session, &queue, &made, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  queue.apart = 0;
  queue.wait_when_full = 2;
  CHECK(tracer_session_queue(session, &queue, &made, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  context.reserved = 0;
  tracer_announcement announcement = TRACER_ANNOUNCEMENT_INIT;
  announcement.key = TRACER_KEY_IN_SLURM_JOB;
  announcement.text = tracer_string_of("12");
  announcement.context = &context;
  CHECK(tracer_session_announce(session, &announcement, NULL) == TRACER_OK);
  announcement.pid = 1;
  CHECK(tracer_session_announce(session, &announcement, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  announcement.key = TRACER_KEY_OF_PROCESS;
  announcement.start_ns = 1;
  CHECK(tracer_session_announce(session, &announcement, NULL) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_session_free(session);

  const tracer_string word = tracer_string_of("true");
  tracer_command_options options_of_command = TRACER_COMMAND_OPTIONS_INIT;
  options_of_command.argv = &word;
  options_of_command.argc = 1;
  options_of_command.environment_count = 3;
  tracer_command* command = NULL;
  CHECK(tracer_command_new(&options_of_command, &command, NULL) == TRACER_ERROR_INVALID_ARGUMENT && command == NULL);
}

/* Structs that were never set: neither what is around them, nor what they point to, is touched. */
static void unset(void) {
  struct {
    tracer_statistics known;
    unsigned char around[4096];
  } room;
  memset(&room, 0xab, sizeof room);
  room.known.size = 2000;
  tracer_session* session = replay(TRACER_READER_POLL);
  CHECK(tracer_session_statistics(session, &room.known, NULL) == TRACER_WRONG_SIZE);
  for (size_t i = 0; i < sizeof room.around; ++i) REQUIRE(room.around[i] == 0xab);
  tracer_session_free(session);

  struct {
    tracer_error known;
    unsigned char around[4096];
  } failed;
  memset(&failed, 0xab, sizeof failed);
  failed.known.size = 2000;
  tracer_recording* recording = NULL;
  CHECK(tracer_recording_open(nothing, &recording, &failed.known) == TRACER_WRONG_SIZE);
  tracer_error_release(&failed.known);
  failed.known.size = sizeof failed.known + 8;
  tracer_problem problem = TRACER_PROBLEM_INIT;
  CHECK(tracer_error_problem(&failed.known, 0, &problem) == TRACER_OUT_OF_RANGE);
  CHECK(tracer_recording_open(nothing, &recording, &failed.known) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(failed.known.status == TRACER_ERROR_INVALID_ARGUMENT && failed.known.text.length != 0);
  tracer_error_release(&failed.known);
  for (size_t i = 0; i < sizeof failed.around; ++i) REQUIRE(failed.around[i] == 0xab);
}

static void values(void) {
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.recording = tracer_string_of(recorded_file());
  options.reader = 7;
  CHECK(made_with(&options) == TRACER_ERROR_INVALID_ARGUMENT);
  options.reader = 0;
  options.families = 1u << 20;
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
      rule.text = tracer_string_of(subject == TRACER_FILTER_UID ? NULL : "/x");
      CHECK(ruled(rule) == TRACER_OK);
    }
  rule.text = nothing;
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
  ignored();
  unset();
  values();
}
