/* SPDX-License-Identifier: Apache-2.0 */
/* On the real kernel: which label a child has is what its own status says. */
#include "walk.h"

#include <sys/wait.h>
#include <unistd.h>

/* A child that ends with `status`, without executing anything. */
static void fork_child(int status) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(status);
  REQUIRE(waitpid(child, NULL, 0) == child);
}

static tracer_label* label(tracer_session* session, const char* task_id) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_context context = TRACER_CONTEXT_INIT;
  context.task_id = tracer_string_of(task_id);
  tracer_label* made = NULL;
  REQUIRE_OK(tracer_session_label_thread(session, &context, &made, &error));
  return made;
}

/* The label of a child by its status; of which each is one. */
static const char* expected(int64_t status) {
  static const char* const labels[] = {NULL, "outer", "inner", "outer", NULL, "inner", "outer", NULL, "early"};
  return status >= 10 && status <= 18 ? labels[status - 10] : "none of mine";
}

static void check_children(tracer_queue* queue) {
  tracer_event_buffer* buffer = tracer_event_buffer_new(256);
  unsigned seen = 0;
  while (tracer_queue_read(queue, buffer, 0, NULL) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) {
      tracer_event_flat flat;
      flat.size = sizeof flat;
      REQUIRE(tracer_event_get_flat(tracer_event_buffer_get(buffer, i), &flat) == TRACER_OK);
      if (flat.kind != TRACER_EVENT_PROCESS_EXIT || flat.parent_pid != (uint32_t)getpid()) continue;
      if (flat.exit_code < 10 || flat.exit_code > 18) continue;
      const char* task = expected(flat.exit_code);
      if (task == NULL ? flat.task_id.data != NULL : !string_is(flat.task_id, task)) {
        fprintf(stderr, "the child %d is in the task %.*s\n", (int)flat.exit_code, (int)flat.task_id.length,
                flat.task_id.data == NULL ? "" : flat.task_id.data);
        ++walk_failures;
      }
      seen |= 1u << (flat.exit_code - 10);
    }
  CHECK(seen == 0x1ff);
  tracer_event_buffer_free(buffer);
}

static tracer_session* session_of_own_tree(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
  rule.subject = TRACER_FILTER_TREE;
  rule.number = (uint64_t)getpid();
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.rules = &rule;
  options.rule_count = 1;
  options.families = TRACER_FAMILY_LIFECYCLE;
  options.max_labeled_threads = 16;
  tracer_session* session = NULL;
  REQUIRE_OK(tracer_session_new(&options, &session, &error));
  return session;
}

void walk_labels(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = session_of_own_tree();
  tracer_queue* queue = NULL;
  REQUIRE_OK(tracer_session_queue(session, NULL, &queue, &error));
  /* What is set before the start holds from then on. */
  tracer_label* early = label(session, "early");
  REQUIRE_OK(tracer_session_start(session, &error));
  fork_child(18);
  tracer_label_free(early);
  fork_child(10);
  tracer_label* outer = label(session, "outer");
  fork_child(11);
  tracer_label* inner = label(session, "inner");
  fork_child(12);
  CHECK(tracer_label_resume(outer) == TRACER_OK);
  fork_child(13);
  CHECK(tracer_session_unlabel_thread(session) == TRACER_OK);
  fork_child(14);
  CHECK(tracer_label_resume(inner) == TRACER_OK);
  fork_child(15);
  CHECK(tracer_label_end(inner) == TRACER_OK && tracer_label_end(inner) == TRACER_OK);
  fork_child(16);
  CHECK(tracer_label_resume(inner) == TRACER_OK);
  tracer_label_free(outer);
  fork_child(17);
  REQUIRE_OK(tracer_session_flush(session, 60000, &error));
  REQUIRE_OK(tracer_session_stop(session, &error));
  check_children(queue);
  tracer_label* late = inner;
  CHECK(tracer_session_label_thread(session, NULL, &late, &error) == TRACER_ENDED && late == NULL);
  tracer_error_release(&error);
  tracer_queue_free(queue);
  tracer_session_free(session);
  tracer_label_free(inner); /* It outlives the session. */
}
