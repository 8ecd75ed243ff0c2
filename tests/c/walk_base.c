/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <errno.h>

static void names(void) {
  CHECK(tracer_abi_version() == TRACER_ABI_VERSION);
  CHECK(tracer_version().length >= 5);
  CHECK(string_is(tracer_status_name(TRACER_ERROR_PERMISSION), "TRC102"));
  CHECK(string_is(tracer_status_name(TRACER_WRONG_KIND), "wrong kind"));
  CHECK(string_is(tracer_status_name(12345), ""));
  CHECK(string_is(tracer_event_kind_name(TRACER_EVENT_PROCESS_EXIT), "process_exit"));
  CHECK(string_is(tracer_event_kind_name(999), ""));
  CHECK(string_is(tracer_provenance_name(TRACER_PROVENANCE_ENGINE_RULE), "engine rule"));
  CHECK(string_is(tracer_provenance_name(77), ""));
  CHECK(tracer_string_of(NULL).data == NULL);
}

/* All problems, not just the first; and room for a caller that knows more, or less. */
static void errors(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  CHECK(tracer_recording_open(tracer_string_of("/no/such/file"), &recording, &error) == TRACER_ERROR_FILE_UNREADABLE);
  CHECK(recording == NULL);
  CHECK(error.status == TRACER_ERROR_FILE_UNREADABLE && error.error_number == ENOENT && error.problem_count == 1);
  CHECK(string_has(error.text, "TRC110") && string_has(error.text, "/no/such/file"));
  tracer_problem problem = TRACER_PROBLEM_INIT;
  CHECK(tracer_error_problem(&error, 0, &problem) == TRACER_OK);
  CHECK(problem.status == TRACER_ERROR_FILE_UNREADABLE && problem.error_number == ENOENT);
  CHECK(string_has(problem.what, "/no/such/file") && problem.fix.length != 0 && problem.detail.length == 0);
  CHECK(tracer_error_problem(&error, 1, &problem) == TRACER_OUT_OF_RANGE);

  /* It is used again without a release. */
  write_file(path_in_folder("text"), "hello", 5);
  CHECK(tracer_recording_open(tracer_string_of(path_in_folder("text")), &recording, &error) ==
        TRACER_ERROR_NOT_A_RECORDING);
  CHECK(string_has(error.text, "TRC111"));
  tracer_error_release(&error);
  CHECK(error.size == sizeof error && error.status == 0 && error.text.data == NULL && error.private_data == NULL);
  tracer_error_release(&error);
  tracer_error_release(NULL);

  tracer_error unset;
  memset(&unset, 0, sizeof unset);
  CHECK(tracer_recording_open(tracer_string_of("/no/such/file"), &recording, &unset) == TRACER_WRONG_SIZE);
  CHECK(unset.status == 0);
  CHECK(tracer_recording_open(tracer_string_of("/no/such/file"), &recording, NULL) == TRACER_ERROR_FILE_UNREADABLE);

  struct {
    tracer_error known;
    uint64_t later;
  } newer;
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  CHECK(tracer_recording_open(tracer_string_of("/no/such/file"), &recording, &newer.known) ==
        TRACER_ERROR_FILE_UNREADABLE);
  CHECK(newer.known.status == TRACER_ERROR_FILE_UNREADABLE && newer.later == 0);
  tracer_error_release(&newer.known);
}

static void several_problems(void) {
  static const char rules[] = "[[engine]]\nname = 3\n[[engine]]\nnames = \"x\"\n";
  write_file(path_in_folder("rules.toml"), rules, sizeof rules - 1);
  tracer_error error = TRACER_ERROR_INIT;
  CHECK(tracer_engine_rules_check(tracer_string_of(path_in_folder("rules.toml")), &error) ==
        TRACER_ERROR_INVALID_RULES);
  CHECK(error.problem_count >= 2);
  tracer_error_release(&error);
  CHECK(tracer_engine_rules_check(tracer_string_of("/no/such/file"), &error) == TRACER_ERROR_FILE_UNREADABLE);
  tracer_error_release(&error);
}

void walk_base(void) {
  names();
  errors();
  several_problems();
}
