/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* `true`, executed in a folder. */
static pid_t run_in(const char* folder) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (chdir(folder) != 0) _exit(126);
    execlp("true", "true", "align.sh", (char*)NULL);
    _exit(127);
  }
  REQUIRE(waitpid(child, NULL, 0) == child);
  return child;
}

static tracer_announcement announcement_of(tracer_announcement_key key, const char* text,
                                           const tracer_context* context) {
  tracer_announcement announcement = TRACER_ANNOUNCEMENT_INIT;
  announcement.key = key;
  announcement.text = tracer_string_of(text);
  announcement.context = context;
  return announcement;
}

/* Each key is taken; what it matches nobody meets here. */
static void all_keys(tracer_session* session, const tracer_context* context) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_announcement announcement = announcement_of(TRACER_KEY_IN_CGROUP, "/no/such/group", context);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_OK);
  announcement = announcement_of(TRACER_KEY_IN_CONTAINER, "0123456789abcdef", context);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_OK);
  announcement = announcement_of(TRACER_KEY_IN_SLURM_JOB, "12", context);
  announcement.expires_after_ms = 1000;
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_OK);
  const tracer_string argv[] = {tracer_string_of("..."), tracer_string_of("nobody has this"), tracer_string_of("...")};
  announcement = announcement_of(TRACER_KEY_BELOW_PROCESS, NULL, context);
  announcement.pid = getpid();
  announcement.argv = argv;
  announcement.argc = 3;
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_OK);

  announcement = announcement_of(TRACER_KEY_OF_PROCESS, NULL, context);
  announcement.pid = INT32_MAX;
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ERROR_FILTER_NAMES_NOTHING);
  announcement = announcement_of(TRACER_KEY_IN_WORK_DIR, "/", context);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  announcement = announcement_of(99, "/tmp", context);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  announcement = announcement_of(TRACER_KEY_IN_WORK_DIR, "/tmp/x", NULL);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  announcement = announcement_of(TRACER_KEY_IN_WORK_DIR, NULL, context);
  announcement.text.data = "/tmp/\0x";
  announcement.text.length = 7;
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(string_has(error.text, "NUL"));
  tracer_error_release(&error);
}

static void submissions(tracer_session* session) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_context context = TRACER_CONTEXT_INIT;
  context.engine = tracer_string_of("planner");
  context.run_id = tracer_string_of("r1");
  tracer_submission submission = TRACER_SUBMISSION_INIT;
  submission.context = &context;
  const tracer_expected_tasks expected[] = {{tracer_string_of("align"), 3}};
  submission.expected = expected;
  submission.expected_count = 1;
  uint64_t run = 0;
  CHECK(tracer_session_submit(session, &submission, &run, &error) == TRACER_OK);
  context.task_id = tracer_string_of("t1");
  submission.expected_count = 0;
  submission.requested_millicpus = 500;
  uint64_t task = 0;
  CHECK(tracer_session_submit(session, &submission, &task, &error) == TRACER_OK);
  CHECK(run != 0 && task != 0 && run != task);
  const int32_t exit_code = 3;
  CHECK(tracer_session_withdraw(session, task, tracer_string_of("failed"), &exit_code, &error) == TRACER_OK);
  CHECK(tracer_session_withdraw(session, run, tracer_string_of("gone"), NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
  context.run_id = tracer_string_of(NULL);
  CHECK(tracer_session_submit(session, &submission, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);
}

/* What was asked for stands in the task that began in the folder. */
static void check_task(tracer_queue* queue, pid_t pid) {
  tracer_event_buffer* buffer = tracer_event_buffer_new(256);
  int tasks = 0;
  int exits = 0;
  while (tracer_queue_read(queue, buffer, 0, NULL) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) {
      const tracer_event* event = tracer_event_buffer_get(buffer, i);
      tracer_event_flat flat;
      flat.size = sizeof flat;
      REQUIRE(tracer_event_get_flat(event, &flat) == TRACER_OK);
      if (flat.pid != (uint32_t)pid) continue;
      if (flat.kind == TRACER_EVENT_PROCESS_EXIT && string_is(flat.task_id, "a1")) ++exits;
      if (flat.kind != TRACER_EVENT_TASK_START) continue;
      uint64_t number = 0;
      tracer_string text = {NULL, 0};
      CHECK(tracer_event_get_u64(event, TRACER_FIELD_TASK_START_REQUESTED_MILLICPUS, &number) == TRACER_OK);
      CHECK(number == 2500);
      CHECK(tracer_event_get_u64(event, TRACER_FIELD_TASK_START_REQUESTED_MEMORY_BYTES, &number) == TRACER_OK);
      CHECK(number == 1u << 30);
      CHECK(tracer_event_get_u64(event, TRACER_FIELD_TASK_START_REQUESTED_TIME_NS, &number) == TRACER_ABSENT);
      CHECK(tracer_event_get_string(event, TRACER_FIELD_TASK_START_REQUESTED_CONTAINER, &text) == TRACER_OK);
      CHECK(string_is(text, "image:1"));
      CHECK(tracer_event_get_u64(event, TRACER_FIELD_TASK_START_PROVENANCE_TASK_ID, &number) == TRACER_OK);
      CHECK(number == TRACER_PROVENANCE_ANNOUNCED);
      ++tasks;
    }
  CHECK(tasks == 1 && exits == 1);
  tracer_event_buffer_free(buffer);
}

void walk_announcements(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.families = TRACER_FAMILY_LIFECYCLE;
  options.reader = TRACER_READER_POLL;
  options.max_announcements = 64;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  REQUIRE_OK(tracer_session_start(session, &error));

  char work[512];
  snprintf(work, sizeof work, "%s", path_in_folder("work"));
  REQUIRE(mkdir(work, 0700) == 0);
  tracer_context context = TRACER_CONTEXT_INIT;
  context.run = tracer_string_of("r1");
  context.step = tracer_string_of("ALIGN");
  context.task_id = tracer_string_of("a1");
  tracer_announcement announcement = announcement_of(TRACER_KEY_IN_WORK_DIR, work, &context);
  announcement.requested_millicpus = 2500;
  announcement.requested_memory_bytes = 1u << 30;
  announcement.requested_container = tracer_string_of("image:1");
  REQUIRE_OK(tracer_session_announce(session, &announcement, &error));
  const pid_t pid = run_in(work);
  all_keys(session, &context);
  submissions(session);
  REQUIRE_OK(tracer_session_track(session, getpid(), NULL, &error));
  CHECK(tracer_session_track(session, INT32_MAX, &context, &error) == TRACER_ERROR_FILTER_NAMES_NOTHING);
  REQUIRE_OK(tracer_session_flush(session, 60000, &error));
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  REQUIRE_OK(tracer_session_statistics(session, &statistics, &error));
  CHECK(statistics.announcements_met == 1 && statistics.announcements_refused == 0);
  REQUIRE_OK(tracer_session_stop(session, &error));
  check_task(queue, pid);
  CHECK(tracer_session_announce(session, &announcement, &error) == TRACER_ENDED);
  tracer_error_release(&error);
  tracer_queue_free(queue);
  tracer_session_free(session);
  rmdir(work);
}
