/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

/* Of the recorded command: the caller frees it. */
static tracer_event* recorded(tracer_event_kind kind) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(4);
  tracer_event* kept = NULL;
  while (tracer_recording_read(recording, buffer, 0, &error) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) {
      const tracer_event* event = tracer_event_buffer_get(buffer, i);
      if (kept == NULL && tracer_event_get_kind(event) == kind) kept = tracer_event_copy(event);
    }
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);
  REQUIRE(kept != NULL);
  return kept;
}

static void typed(const tracer_event* ended) {
  uint64_t number = 9;
  int64_t code = 9;
  uint8_t flag = 9;
  size_t count = 9;
  tracer_string text = {NULL, 0};
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_PID, &number) == TRACER_OK);
  CHECK(number == (uint64_t)recorded_pid);
  CHECK(tracer_event_get_i64(ended, TRACER_FIELD_PROCESS_EXIT_EXIT_CODE, &code) == TRACER_OK &&
        code == RECORDED_STATUS);
  CHECK(tracer_event_get_i64(ended, TRACER_FIELD_PROCESS_EXIT_EXIT_SIGNAL, &code) == TRACER_ABSENT && code == 0);
  CHECK(tracer_event_get_bool(ended, TRACER_FIELD_PROCESS_EXIT_CORE_DUMPED, &flag) == TRACER_OK && flag == 0);
  CHECK(tracer_event_get_string(ended, TRACER_FIELD_PROCESS_EXIT_CONTEXT_PIPELINE, &text) == TRACER_OK);
  CHECK(string_is(text, "walk"));
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_CONTEXT_ATTEMPT, &number) == TRACER_OK && number == 2);
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_PROVENANCE_TASK, &number) == TRACER_OK);
  CHECK(number == TRACER_PROVENANCE_LABEL);
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_LEDGER_WALL_NS, &number) == TRACER_OK && number > 0);
  /* Lists: of texts, and of structs. */
  CHECK(tracer_event_get_count(ended, TRACER_FIELD_PROCESS_EXIT_ARGV, &count) == TRACER_OK && count == 3);
  CHECK(tracer_event_get_string_at(ended, TRACER_FIELD_PROCESS_EXIT_ARGV, 1, &text) == TRACER_OK);
  CHECK(string_is(text, "-c"));
  CHECK(tracer_event_get_string_at(ended, TRACER_FIELD_PROCESS_EXIT_ARGV, 3, &text) == TRACER_OUT_OF_RANGE);
  CHECK(text.data == NULL && text.length == 0);
  CHECK(tracer_event_get_count(ended, TRACER_FIELD_PROCESS_EXIT_CONTEXT_LABELS_NAME, &count) == TRACER_OK &&
        count == 1);
  CHECK(tracer_event_get_string_at(ended, TRACER_FIELD_PROCESS_EXIT_CONTEXT_LABELS_VALUE, 0, &text) == TRACER_OK);
  CHECK(string_is(text, "3"));
}

/* Misuse is told, and what is stored is never garbage. */
static void misused(const tracer_event* ended) {
  uint64_t number = 9;
  int64_t code = 9;
  uint8_t flag = 9;
  size_t count = 9;
  tracer_string text = {"x", 1};
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_START_PID, &number) == TRACER_WRONG_KIND && number == 0);
  number = 9;
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_EXE, &number) == TRACER_WRONG_TYPE && number == 0);
  CHECK(tracer_event_get_i64(ended, TRACER_FIELD_PROCESS_EXIT_PID, &code) == TRACER_WRONG_TYPE && code == 0);
  CHECK(tracer_event_get_bool(ended, TRACER_FIELD_PROCESS_EXIT_PID, &flag) == TRACER_WRONG_TYPE && flag == 0);
  CHECK(tracer_event_get_string(ended, TRACER_FIELD_PROCESS_EXIT_PID, &text) == TRACER_WRONG_TYPE);
  CHECK(text.data == NULL && text.length == 0);
  CHECK(tracer_event_get_string(ended, TRACER_FIELD_PROCESS_EXIT_ARGV, &text) == TRACER_WRONG_TYPE);
  CHECK(tracer_event_get_string_at(ended, TRACER_FIELD_PROCESS_EXIT_EXE, 0, &text) == TRACER_WRONG_TYPE);
  CHECK(tracer_event_get_count(ended, TRACER_FIELD_PROCESS_EXIT_PID, &count) == TRACER_WRONG_TYPE && count == 0);
  CHECK(tracer_event_get_u64_at(ended, TRACER_FIELD_LOSS_BY_KIND_COUNT, 0, &number) == TRACER_WRONG_KIND);
  CHECK(tracer_event_get_i64_at(ended, TRACER_FIELD_TASK_FINISH_FAILURES_EXIT_CODE, 0, &code) == TRACER_WRONG_KIND);
  static const tracer_field nowhere[] = {0,
                                         1,
                                         UINT64_MAX,
                                         UINT64_C(0x0066000000000000),
                                         UINT64_C(0x0066ff0000000000),
                                         UINT64_C(0x0066010100000000),
                                         UINT64_C(0x0066020000000000),
                                         TRACER_FIELD_PROCESS_EXIT_PID | 0x77,
                                         TRACER_FIELD_PROCESS_EXIT_END_NS | UINT64_C(0x100000000),
                                         TRACER_FIELD_PROCESS_EXIT_LEDGER_WALL_NS | 1};
  for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; ++i)
    CHECK(tracer_event_get_u64(ended, nowhere[i], &number) == TRACER_NO_SUCH_FIELD);
}

/* Each field of each kind, by the list of them: the getter of its type is the only one that reads it. */
static void described(const tracer_event* event) {
  const tracer_event_kind kind = tracer_event_get_kind(event);
  CHECK(tracer_field_count(kind) > 4);
  for (size_t i = 0; i < tracer_field_count(kind); ++i) {
    tracer_field_info info = TRACER_FIELD_INFO_INIT;
    CHECK(tracer_field_at(kind, i, &info) == TRACER_OK && info.kind == kind && info.field >> 48 == kind);
    tracer_field_info same = TRACER_FIELD_INFO_INIT;
    CHECK(tracer_field_find(kind, info.name, &same) == TRACER_OK && same.field == info.field);
    uint64_t number = 0;
    int64_t code = 0;
    uint8_t flag = 0;
    size_t count = 0;
    tracer_string text = {NULL, 0};
    int right = 0;
    const tracer_status statuses[] = {
        tracer_event_get_u64(event, info.field, &number),  tracer_event_get_i64(event, info.field, &code),
        tracer_event_get_bool(event, info.field, &flag),   tracer_event_get_string(event, info.field, &text),
        tracer_event_get_count(event, info.field, &count),
    };
    for (size_t j = 0; j < sizeof statuses / sizeof *statuses; ++j) {
      CHECK(statuses[j] == TRACER_OK || statuses[j] == TRACER_WRONG_TYPE ||
            (statuses[j] == TRACER_ABSENT && info.nullable));
      if (statuses[j] != TRACER_WRONG_TYPE) ++right;
    }
    CHECK(right == 1);
    CHECK((statuses[4] != TRACER_WRONG_TYPE) == (info.list != 0));
  }
  tracer_field_info info = TRACER_FIELD_INFO_INIT;
  CHECK(tracer_field_at(kind, 10000, &info) == TRACER_OUT_OF_RANGE);
  CHECK(tracer_field_find(kind, tracer_string_of("no_such"), &info) == TRACER_NO_SUCH_FIELD);
  CHECK(tracer_field_count(999) == 0);
  const tracer_string name = tracer_field_value_name(TRACER_FIELD_PROCESS_EXIT_PROVENANCE_TASK, 5);
  CHECK(string_is(name, "announced"));
  CHECK(string_is(tracer_field_value_name(TRACER_FIELD_PROCESS_EXIT_PROVENANCE_TASK, 99), ""));
  CHECK(string_is(tracer_field_value_name(TRACER_FIELD_PROCESS_EXIT_PID, 1), ""));
  CHECK(string_is(tracer_field_value_name(0, 1), ""));
}

static void flat(const tracer_event* ended) {
  tracer_event_flat flat;
  memset(&flat, 0xff, sizeof flat);
  flat.size = sizeof flat;
  CHECK(tracer_event_get_flat(ended, &flat) == TRACER_OK);
  CHECK(flat.kind == TRACER_EVENT_PROCESS_EXIT && flat.time_ns == tracer_event_get_time_ns(ended));
  CHECK(flat.pid == (uint32_t)recorded_pid && flat.exit_code == RECORDED_STATUS && flat.failed == 1);
  CHECK((flat.present & TRACER_HAS_EXIT_CODE) != 0 && (flat.present & TRACER_HAS_EXIT_SIGNAL) == 0);
  CHECK(flat.exit_signal == 0 && (flat.present & TRACER_HAS_MEMORY_BYTES) == 0 && flat.memory_bytes == 0);
  CHECK(string_is(flat.task_id, "t1") && string_is(flat.sample, "S1") && flat.run.data == NULL && flat.attempt == 2);
  CHECK(flat.end_ns > flat.start_ns && flat.exe.length != 0 && flat.cause.data == NULL);
  uint64_t cpu = 0;
  CHECK(tracer_event_get_u64(ended, TRACER_FIELD_PROCESS_EXIT_CPU_NS, &cpu) == TRACER_OK && cpu == flat.cpu_ns);
  flat.size = 8;
  CHECK(tracer_event_get_flat(ended, &flat) == TRACER_WRONG_SIZE);
}

static void as_text(const tracer_event* ended) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_text* json = NULL;
  REQUIRE_OK(tracer_event_to_json(ended, &json, &error));
  CHECK(string_has(tracer_text_get(json), "{\"kind\":\"process_exit\"") &&
        string_has(tracer_text_get(json), "\"walk\""));
  tracer_text_free(json);
  CHECK(tracer_text_get(NULL).data == NULL);
}

static void failures_of(const tracer_event* finish) {
  size_t count = 0;
  int64_t code = 0;
  uint64_t pid = 0;
  CHECK(tracer_event_get_count(finish, TRACER_FIELD_TASK_FINISH_FAILURES_PID, &count) == TRACER_OK && count == 1);
  CHECK(tracer_event_get_u64_at(finish, TRACER_FIELD_TASK_FINISH_FAILURES_PID, 0, &pid) == TRACER_OK);
  CHECK(pid == (uint64_t)recorded_pid);
  CHECK(tracer_event_get_i64_at(finish, TRACER_FIELD_TASK_FINISH_FAILURES_EXIT_CODE, 0, &code) == TRACER_OK);
  CHECK(code == RECORDED_STATUS);
  CHECK(tracer_event_get_i64_at(finish, TRACER_FIELD_TASK_FINISH_FAILURES_EXIT_SIGNAL, 0, &code) == TRACER_ABSENT);
  CHECK(tracer_event_get_i64_at(finish, TRACER_FIELD_TASK_FINISH_FAILURES_EXIT_CODE, 1, &code) == TRACER_OUT_OF_RANGE);
}

void walk_events(void) {
  tracer_event* ended = recorded(TRACER_EVENT_PROCESS_EXIT);
  typed(ended);
  misused(ended);
  flat(ended);
  as_text(ended);
  described(ended);
  tracer_event_free(ended);
  tracer_event* finish = recorded(TRACER_EVENT_TASK_FINISH);
  failures_of(finish);
  described(finish);
  tracer_event_free(finish);
  tracer_event* end = recorded(TRACER_EVENT_SESSION_END);
  described(end);
  tracer_event_free(end);
}
