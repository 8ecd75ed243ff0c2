/* SPDX-License-Identifier: Apache-2.0 */
/* One command, traced by the kernel from its first instruction to its last switch, and recorded. */
#include "walk.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static int32_t pass_on(void* trace, const tracer_event* event) {
  tracer_command_trace_saw(trace, event);
  return 0;
}

static void enter(void* folder) {
  if (chdir(folder) != 0) _exit(125);
}

static tracer_command* new_command(void) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_string argv[] = {tracer_string_of("sh"), tracer_string_of("-c"),
                                tracer_string_of("test -e text && test \"$WALK\" = 1 && exit 7; exit 8")};
  const tracer_string environment[] = {tracer_string_of("PATH=/usr/bin:/bin"), tracer_string_of("WALK=1")};
  char folder[512];
  snprintf(folder, sizeof folder, "%s", walk_folder);
  tracer_command_options options = TRACER_COMMAND_OPTIONS_INIT;
  options.argv = argv;
  options.argc = 3;
  options.environment = environment;
  options.environment_count = 2;
  options.prepare = enter;
  options.prepare_data = folder;
  tracer_command* command = NULL;
  REQUIRE_OK(tracer_command_new(&options, &command, &error));
  return command;
}

static tracer_session* session_on(int32_t pid) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_name_value label = {tracer_string_of("lane"), tracer_string_of("3")};
  tracer_context context = TRACER_CONTEXT_INIT;
  context.pipeline = tracer_string_of("walk");
  context.sample = tracer_string_of("S1");
  context.task = tracer_string_of("SHELL (S1)");
  context.task_id = tracer_string_of("t1");
  context.attempt = 2;
  context.labels = &label;
  context.label_count = 1;
  tracer_filter_rule rules[2] = {TRACER_FILTER_RULE_INIT, TRACER_FILTER_RULE_INIT};
  rules[0].subject = TRACER_FILTER_TREE;
  rules[0].number = (uint64_t)pid;
  rules[0].context = &context;
  rules[1].subject = TRACER_FILTER_TOOL;
  rules[1].exclude = 1;
  rules[1].text = tracer_string_of("no such tool");
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = TRACER_READER_POLL;
  options.rules = rules;
  options.rule_count = 2;
  options.families = TRACER_FAMILY_LIFECYCLE | TRACER_FAMILY_WAITS;
  options.ring_bytes = 1u << 20;
  options.max_processes = 4096;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  return session;
}

static void check_exit(tracer_queue* queue, int32_t pid) {
  tracer_event_buffer* buffer = tracer_event_buffer_new(16);
  int exits = 0;
  int64_t count = 0;
  while ((count = tracer_queue_read(queue, buffer, 0, NULL)) > 0) {
    CHECK((size_t)count == tracer_event_buffer_count(buffer));
    for (size_t i = 0; i < (size_t)count; ++i) {
      const tracer_event* event = tracer_event_buffer_get(buffer, i);
      uint64_t own = 0;
      if (tracer_event_get_u64(event, TRACER_FIELD_PROCESS_EXIT_PID, &own) != TRACER_OK || own != (uint64_t)pid)
        continue;
      int64_t status = -1;
      CHECK(tracer_event_get_i64(event, TRACER_FIELD_PROCESS_EXIT_EXIT_CODE, &status) == TRACER_OK);
      CHECK(status == RECORDED_STATUS);
      ++exits;
    }
  }
  CHECK(exits == 1);
  uint8_t ended = 0;
  CHECK(tracer_queue_ended(queue, &ended) == TRACER_OK && ended == 1);
  tracer_event_buffer_free(buffer);
}

static void check_argv(const tracer_command_trace* trace) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_list* argv = NULL;
  REQUIRE_OK(tracer_command_trace_argv(trace, &argv, &error));
  tracer_string word = {NULL, 0};
  CHECK(tracer_list_count(argv) == 3);
  CHECK(tracer_list_string(argv, 0, &word) == TRACER_OK && string_is(word, "sh"));
  CHECK(tracer_list_string(argv, 3, &word) == TRACER_OUT_OF_RANGE && word.data == NULL);
  tracer_list_free(argv);
}

static void check_sinks(tracer_sink* recording, tracer_sink* json) {
  tracer_error error = TRACER_ERROR_INIT;
  CHECK(tracer_sink_problem(recording, &error) == TRACER_OK && error.problem_count == 0);
  CHECK(tracer_sink_problem(json, &error) == TRACER_OK);
  uint64_t dropped = 1;
  CHECK(tracer_sink_dropped(recording, &dropped) == TRACER_OK && dropped == 0);
  size_t size = 0;
  char* text = read_file(path_in_folder("events.json"), &size);
  CHECK(strncmp(text, "{\"kind\":\"host\"", 14) == 0);
  CHECK(strstr(text, "\"kind\":\"process_exit\"") != NULL && strstr(text, "\"kind\":\"session_end\"") != NULL);
  free(text);
}

/* What the kernel added up is what `sh` was: one process that failed. */
static void check_totals(const tracer_session* session) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_list* totals = NULL;
  REQUIRE_OK(tracer_session_totals(session, &totals, &error));
  int found = 0;
  for (size_t i = 0; i < tracer_list_count(totals); ++i) {
    tracer_totals sum = TRACER_TOTALS_INIT;
    CHECK(tracer_list_totals(totals, i, &sum) == TRACER_OK);
    if (!string_is(sum.task_id, "t1")) continue;
    ++found;
    CHECK(sum.ended == 1 && sum.failed == 1 && sum.living == 0 && sum.attempt == 2);
    CHECK((sum.present & TRACER_HAS_CPU_NS) != 0 && sum.cpu_ns > 0);
    CHECK(string_is(sum.pipeline, "walk") && sum.run.data == NULL);
    CHECK(sum.label_count == 1 && string_is(sum.labels[0].name, "lane") && string_is(sum.labels[0].value, "3"));
    CHECK((sum.present & TRACER_HAS_READ_AT_MOST_BYTES) != 0 && sum.read_at_most_bytes >= sum.read_bytes);
    CHECK((sum.present & TRACER_HAS_WRITE_CALLS) != 0 && (sum.present & TRACER_HAS_STORAGE_CANCELLED_BYTES) != 0);
    CHECK((sum.present & TRACER_HAS_READ_CALLS) == 0 && sum.read_calls == 0); /* Those of exec are not told apart. */
  }
  CHECK(found == 1);
  tracer_list_free(totals);
}

void walk_session(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_command* command = new_command();
  recorded_pid = tracer_command_pid(command);
  tracer_session* session = session_on(recorded_pid);
  tracer_command_trace* trace = tracer_command_trace_new(recorded_pid);
  tracer_subscription* subscription = NULL;
  REQUIRE_OK(tracer_session_subscribe(session, TRACER_EVENT_NONE, pass_on, trace, NULL, &subscription, &error));
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  tracer_sink* recording = NULL;
  REQUIRE_OK(tracer_session_record(session, tracer_string_of(recorded_file()), NULL, &recording, &error));
  tracer_sink* json = NULL;
  REQUIRE_OK(tracer_session_write_json(session, tracer_string_of(path_in_folder("events.json")), NULL, &json, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(tracer_command_trace_ended(trace) == 0);

  int status = 0;
  CHECK(tracer_command_ended(command, &status) == TRACER_ABSENT);
  REQUIRE_OK(tracer_command_release(command, &error));
  CHECK(tracer_command_release(command, &error) == TRACER_ENDED);
  REQUIRE_OK(tracer_session_dispatch_until_ended(session, trace, 60000, &error));
  CHECK(tracer_command_trace_ended(trace) == 1);
  while (tracer_command_ended(command, &status) == TRACER_ABSENT) usleep(1000);
  CHECK(tracer_command_ended(command, &status) == TRACER_OK);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == RECORDED_STATUS);
  check_argv(trace);

  REQUIRE_OK(tracer_session_flush(session, 60000, &error));
  REQUIRE_OK(tracer_sink_flush(recording, 60000, &error));
  check_totals(session);
  REQUIRE_OK(tracer_session_stop(session, &error));
  REQUIRE_OK(tracer_session_stop(session, &error));
  uint8_t finished = 0;
  CHECK(tracer_session_finished(session, &finished) == TRACER_OK && finished == 1);
  tracer_tier tier = TRACER_TIER_RECORDING;
  CHECK(tracer_session_tier(session, &tier) == TRACER_OK && tier == TRACER_TIER_KERNEL);
  CHECK(tracer_session_tier(NULL, &tier) == TRACER_ERROR_INVALID_ARGUMENT && tier == TRACER_TIER_RECORDING);
  check_exit(queue, recorded_pid);
  check_sinks(recording, json);
  CHECK(tracer_session_start(session, &error) == TRACER_ENDED);
  CHECK(tracer_session_track(session, getpid(), NULL, &error) == TRACER_ENDED);
  tracer_error_release(&error);

  tracer_subscription_free(subscription);
  tracer_session_free(session);
  tracer_queue_free(queue);
  tracer_sink_free(recording);
  tracer_sink_free(json);
  tracer_command_trace_free(trace);
  tracer_command_free(command);
}
