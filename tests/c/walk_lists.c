/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <sys/wait.h>
#include <unistd.h>

static void checks(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_list* items = NULL;
  REQUIRE_OK(tracer_check(&items, &error));
  CHECK(tracer_list_count(items) > 5);
  tracer_check_item item = TRACER_CHECK_ITEM_INIT;
  CHECK(tracer_list_check_item(items, 0, &item) == TRACER_OK && item.name.length != 0 && item.effect.length != 0);
  CHECK(tracer_list_check_item(items, 1000, &item) == TRACER_OUT_OF_RANGE);
  /* A list has elements of one kind. */
  tracer_string text = {"x", 1};
  tracer_problem problem = TRACER_PROBLEM_INIT;
  tracer_family_state family = TRACER_FAMILY_STATE_INIT;
  tracer_loss_count loss = TRACER_LOSS_COUNT_INIT;
  tracer_totals totals = TRACER_TOTALS_INIT;
  tracer_reason reason = TRACER_REASON_INIT;
  tracer_host host = TRACER_HOST_INIT;
  CHECK(tracer_list_host(items, 0, &host) == TRACER_WRONG_KIND);
  CHECK(tracer_list_string(items, 0, &text) == TRACER_WRONG_KIND && text.data == NULL);
  CHECK(tracer_list_problem(items, 0, &problem) == TRACER_WRONG_KIND);
  CHECK(tracer_list_family(items, 0, &family) == TRACER_WRONG_KIND);
  CHECK(tracer_list_loss(items, 0, &loss) == TRACER_WRONG_KIND);
  CHECK(tracer_list_totals(items, 0, &totals) == TRACER_WRONG_KIND);
  CHECK(tracer_list_reason(items, 0, &reason) == TRACER_WRONG_KIND);
  tracer_list_free(items);
  CHECK(tracer_list_count(NULL) == 0);
}

/* Of a living session of the kernel. */
static void figures(void) {
  tracer_error error = TRACER_ERROR_INIT;
  static const char rules[] = "[[engine]]\nname = 3\n";
  write_file(path_in_folder("wrong.toml"), rules, sizeof rules - 1);
  tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
  rule.subject = TRACER_FILTER_TREE;
  rule.number = (uint64_t)getpid();
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.rules = &rule;
  options.rule_count = 1;
  options.sample_interval_ms = 100;
  tracer_session* session = NULL;
  options.engine_rules = tracer_string_of(path_in_folder("wrong.toml"));
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  REQUIRE_OK(tracer_session_start(session, &error));

  tracer_list* list = NULL;
  REQUIRE_OK(tracer_session_families(session, &list, &error));
  tracer_family_state family = TRACER_FAMILY_STATE_INIT;
  CHECK(tracer_list_family(list, 0, &family) == TRACER_OK && family.mechanism.length != 0);
  CHECK(string_is(family.name, "lifecycle") && family.active == 1 && family.family == TRACER_FAMILY_LIFECYCLE);
  tracer_list_free(list);
  REQUIRE_OK(tracer_session_explain(session, &list, &error));
  tracer_string line = {NULL, 0};
  CHECK(tracer_list_string(list, 0, &line) == TRACER_OK && string_has(line, "include the tree of process"));
  tracer_list_free(list);
  REQUIRE_OK(tracer_session_rule_problems(session, &list, &error));
  tracer_problem problem = TRACER_PROBLEM_INIT;
  CHECK(tracer_list_problem(list, 0, &problem) == TRACER_OK && problem.status == TRACER_ERROR_INVALID_RULES);
  tracer_list_free(list);
  REQUIRE_OK(tracer_session_losses(session, &list, &error));
  tracer_loss_count loss = TRACER_LOSS_COUNT_INIT;
  CHECK(tracer_list_loss(list, tracer_list_count(list), &loss) == TRACER_OUT_OF_RANGE);
  tracer_list_free(list);

  /* This process lives, and is in the list of what does. */
  tracer_event_buffer* buffer = tracer_event_buffer_new(1);
  REQUIRE_OK(tracer_session_living(session, buffer, &error));
  int self = 0;
  for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) {
    uint64_t pid = 0;
    CHECK(tracer_event_get_u64(tracer_event_buffer_get(buffer, i), TRACER_FIELD_PROCESS_SAMPLE_PID, &pid) == TRACER_OK);
    self += pid == (uint64_t)getpid();
  }
  CHECK(self == 1);
  tracer_event_buffer_free(buffer);
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  REQUIRE_OK(tracer_session_statistics(session, &statistics, &error));
  CHECK((statistics.present & TRACER_HAS_COST_MEMORY_BYTES) != 0 && statistics.cost_memory_bytes > 0);
  REQUIRE_OK(tracer_session_stop(session, &error));
  tracer_session_free(session);
}

/* Losses of a session, by cause: more processes than there is room for. */
static void losses(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.families = TRACER_FAMILY_LIFECYCLE;
  options.max_processes = 2;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  REQUIRE_OK(tracer_session_stop(session, &error));
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  REQUIRE_OK(tracer_session_statistics(session, &statistics, &error));
  tracer_list* list = NULL;
  REQUIRE_OK(tracer_session_losses(session, &list, &error));
  uint64_t sum = 0;
  for (size_t i = 0; i < tracer_list_count(list); ++i) {
    tracer_loss_count loss = TRACER_LOSS_COUNT_INIT;
    CHECK(tracer_list_loss(list, i, &loss) == TRACER_OK && loss.cause.length != 0 && loss.count != 0);
    sum += loss.count;
  }
  CHECK(sum > 0 && sum == statistics.lost);
  tracer_list_free(list);
  tracer_session_free(session);
}

static void reasons(void) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_string none = {NULL, 0};
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(1);
  int explained = 0;
  while (tracer_recording_read(recording, buffer, 0, &error) > 0) {
    const tracer_event* event = tracer_event_buffer_get(buffer, 0);
    tracer_list* list = NULL;
    if (tracer_event_get_kind(event) == TRACER_EVENT_SESSION_END)
      CHECK(tracer_event_explain(event, none, &list, &error) == TRACER_ABSENT && list == NULL);
    if (tracer_event_get_kind(event) != TRACER_EVENT_PROCESS_EXIT) continue;
    REQUIRE_OK(tracer_event_explain(event, none, &list, &error));
    for (size_t i = 0; i < tracer_list_count(list); ++i) {
      tracer_reason reason = TRACER_REASON_INIT;
      CHECK(tracer_list_reason(list, i, &reason) == TRACER_OK);
      if (string_is(reason.field, "sample")) {
        CHECK(string_is(reason.value, "S1") && reason.provenance == TRACER_PROVENANCE_LABEL && reason.overruled == 0);
        ++explained;
      }
    }
    tracer_list_free(list);
  }
  CHECK(explained == 1);
  tracer_error_release(&error);
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);

  tracer_event* self = NULL;
  REQUIRE_OK(tracer_process_resolve(getpid(), NULL, &self, &error));
  uint64_t pid = 0;
  CHECK(tracer_event_get_kind(self) == TRACER_EVENT_PROCESS_START);
  CHECK(tracer_event_get_u64(self, TRACER_FIELD_PROCESS_START_PID, &pid) == TRACER_OK && pid == (uint64_t)getpid());
  tracer_event_free(self);
  CHECK(tracer_process_resolve(INT32_MAX, NULL, &self, &error) == TRACER_ERROR_FILTER_NAMES_NOTHING && self == NULL);
  tracer_resolve_options options = TRACER_RESOLVE_OPTIONS_INIT;
  options.skip_engine_notes = 2;
  CHECK(tracer_process_resolve(getpid(), &options, &self, &error) == TRACER_ERROR_INVALID_ARGUMENT && self == NULL);
  options.skip_engine_notes = 1;
  options.secret_rules = tracer_string_of("/nonexistent/secrets.toml");
  CHECK(tracer_process_resolve(getpid(), &options, &self, &error) == TRACER_ERROR_FILE_UNREADABLE && self == NULL);
  tracer_error_release(&error);
}

/* Many at once say what each one says. */
static void reasons_of_many(void) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_string none = {NULL, 0};
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(recorded_file()), &recording, &error));
  tracer_event_buffer* buffer = tracer_event_buffer_new(64);
  REQUIRE(tracer_recording_read(recording, buffer, 0, &error) > 3);
  const size_t count = tracer_event_buffer_count(buffer);
  tracer_list* lists[64];
  CHECK(tracer_event_buffer_explain(buffer, none, lists, count - 1, &error) == TRACER_OUT_OF_RANGE);
  CHECK(tracer_event_buffer_explain(buffer, tracer_string_of("/no/such"), lists, count, &error) ==
            TRACER_ERROR_FILE_UNREADABLE &&
        lists[0] == NULL);
  CHECK(tracer_event_buffer_explain(NULL, none, lists, 1, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(tracer_event_buffer_explain(buffer, none, lists, count, &error));
  int with = 0;
  int without = 0;
  for (size_t i = 0; i < count; ++i) {
    tracer_list* one = NULL;
    const tracer_status status = tracer_event_explain(tracer_event_buffer_get(buffer, i), none, &one, &error);
    CHECK((status == TRACER_OK) == (lists[i] != NULL) && tracer_list_count(one) == tracer_list_count(lists[i]));
    for (size_t j = 0; j < tracer_list_count(one); ++j) {
      tracer_reason reasons[2] = {TRACER_REASON_INIT, TRACER_REASON_INIT};
      CHECK(tracer_list_reason(one, j, &reasons[0]) == TRACER_OK && tracer_list_reason(lists[i], j, &reasons[1]) == 0);
      CHECK(reasons[0].value.length == reasons[1].value.length && reasons[0].provenance == reasons[1].provenance);
    }
    ++*(lists[i] == NULL ? &without : &with);
    tracer_list_free(one);
    tracer_list_free(lists[i]);
  }
  CHECK(with > 0 && without > 0);
  tracer_error_release(&error);
  tracer_event_buffer_free(buffer);
  tracer_recording_free(recording);
}

/* Rows of totals can be told apart, also where a label alone differs. */
static void totals_by_label(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.families = TRACER_FAMILY_LIFECYCLE;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  REQUIRE_OK(tracer_session_start(session, &error));
  static const char* const lanes[] = {"0", "1", "2"};
  for (int i = 0; i < 3; ++i) {
    const tracer_name_value lane = {tracer_string_of("lane"), tracer_string_of(lanes[i])};
    tracer_context context = TRACER_CONTEXT_INIT;
    context.sample = tracer_string_of("told apart");
    context.labels = &lane;
    context.label_count = 1;
    tracer_label* label = NULL;
    REQUIRE_OK(tracer_session_label_thread(session, &context, &label, &error));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(0);
    REQUIRE(waitpid(child, NULL, 0) == child);
    tracer_label_free(label);
  }
  REQUIRE_OK(tracer_session_flush(session, 60000, &error));
  tracer_list* list = NULL;
  REQUIRE_OK(tracer_session_totals(session, &list, &error));
  unsigned seen = 0;
  for (size_t i = 0; i < tracer_list_count(list); ++i) {
    tracer_totals totals = TRACER_TOTALS_INIT;
    REQUIRE_OK(tracer_list_totals(list, i, &totals));
    if (!string_is(totals.sample, "told apart")) continue;
    REQUIRE(totals.label_count == 1 && string_is(totals.labels->name, "lane"));
    CHECK(totals.ended == 1);
    for (unsigned j = 0; j < 3; ++j) seen += string_is(totals.labels->value, lanes[j]) ? 1u << (4 * j) : 0;
  }
  CHECK(seen == 0x111);
  tracer_list_free(list);
  REQUIRE_OK(tracer_session_stop(session, &error));
  tracer_session_free(session);
}

static void hosts(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_list* list = NULL;
  REQUIRE_OK(tracer_host_get(&list, &error));
  tracer_host host = TRACER_HOST_INIT;
  CHECK(tracer_list_count(list) == 1 && tracer_list_host(list, 0, &host) == TRACER_OK);
  CHECK(host.boot_id.length == 36 && host.memory_bytes > 0 && host.cpu_count > 0);
  tracer_text* json = NULL;
  REQUIRE_OK(tracer_host_to_json(&host, &json, &error));
  CHECK(string_has(tracer_text_get(json), "{\"kind\":\"host\"") && string_has(tracer_text_get(json), "\"boot_id\":\""));
  tracer_text_free(json);
  tracer_list_free(list);
  CHECK(tracer_host_to_json(NULL, &json, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
}

void walk_lists(void) {
  reasons_of_many();
  totals_by_label();
  hosts();
  checks();
  figures();
  losses();
  reasons();
}
