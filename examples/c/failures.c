/* SPDX-License-Identifier: Apache-2.0 */
/* Prints each process that fails in the tree of PID, until Enter: one poll() for the session and the terminal. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <tracer.h>

static void print_failure(const tracer_event* event) {
  tracer_event_flat flat;
  flat.size = sizeof flat;
  if (tracer_event_get_flat(event, &flat) != TRACER_OK || !flat.failed) return;
  printf("%.*s, pid %u, failed", flat.tool.data == NULL ? 1 : (int)flat.tool.length,
         flat.tool.data == NULL ? "?" : flat.tool.data, flat.pid);
  if (flat.present & TRACER_HAS_CPU_NS) printf(", CPU %llu ms", (unsigned long long)(flat.cpu_ns / 1000000));
  printf("\n");
  fflush(stdout);
}

/* Until Enter, or the end of the session. */
static tracer_status watch(tracer_session* session, tracer_queue* queue, tracer_error* error) {
  tracer_event_buffer* buffer = tracer_event_buffer_new(256);
  struct pollfd ready[2] = {{tracer_session_fd(session), POLLIN, 0}, {0, POLLIN, 0}};
  tracer_status status = TRACER_OK;
  uint8_t finished = 0;
  while (status == TRACER_OK && !finished && poll(ready, 2, -1) >= 0 && ready[1].revents == 0) {
    const int64_t events = tracer_session_dispatch(session, 0, error);
    if (events < 0) status = (tracer_status)events;
    while (tracer_queue_read(queue, buffer, 0, NULL) > 0)
      for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i) print_failure(tracer_event_buffer_get(buffer, i));
    tracer_session_finished(session, &finished);
  }
  tracer_event_buffer_free(buffer);
  return status;
}

int main(int argc, char** argv) {
  const tracer_event_kind kinds[] = {TRACER_EVENT_PROCESS_EXIT};
  tracer_filter_rule rule = TRACER_FILTER_RULE_INIT;
  rule.subject = TRACER_FILTER_TREE;
  rule.number = strtoull(argc > 1 ? argv[1] : "0", NULL, 10);
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.reader = TRACER_READER_POLL;
  options.rules = &rule;
  options.rule_count = 1;
  tracer_queue_options wanted = TRACER_QUEUE_OPTIONS_INIT;
  wanted.kinds = kinds;
  wanted.kind_count = 1;

  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = NULL;
  tracer_queue* queue = NULL;
  tracer_status status = tracer_session_new(&options, &session, &error);
  if (status == TRACER_OK) status = tracer_session_queue(session, &wanted, &queue, &error);
  if (status == TRACER_OK) status = tracer_session_start(session, &error);
  if (status == TRACER_OK) status = watch(session, queue, &error);
  if (status != TRACER_OK) fprintf(stderr, "%.*s\n", (int)error.text.length, error.text.data);
  tracer_error_release(&error);
  tracer_queue_free(queue);
  tracer_session_free(session);
  return status == TRACER_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
