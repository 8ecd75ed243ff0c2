/* SPDX-License-Identifier: Apache-2.0 */
/* What a session made is of its process: a fork's child is told so, and what it frees it only forgets. */
#include "walk.h"

#include <sys/wait.h>
#include <unistd.h>

static int32_t ignore(void* data, const tracer_event* event) {
  (void)data;
  (void)event;
  return 0;
}

static int destroyed = 0;
static void destroy(void* data) {
  (void)data;
  ++destroyed;
}

struct handles {
  tracer_session* session;
  tracer_queue* queue;
  tracer_subscription* subscription;
  tracer_sink* sink;
  tracer_label* label;
  tracer_event_buffer* buffer;
  tracer_command* command;
  tracer_writer* writer;
};

static void use_session(tracer_session* session) {
  tracer_error error = TRACER_ERROR_INIT;
  uint8_t flag = 9;
  tracer_list* list = NULL;
  tracer_statistics statistics = TRACER_STATISTICS_INIT;
  tracer_host host = TRACER_HOST_INIT;
  tracer_announcement announcement = TRACER_ANNOUNCEMENT_INIT;
  tracer_queue* queue = NULL;
  tracer_sink* sink = NULL;
  tracer_subscription* subscription = NULL;
  tracer_label* label = NULL;
  CHECK(tracer_session_start(session, &error) == TRACER_FORKED && string_has(error.text, "another process"));
  CHECK(tracer_session_stop(session, NULL) == TRACER_FORKED);
  CHECK(tracer_session_request_stop(session) == TRACER_FORKED);
  CHECK(tracer_session_finished(session, &flag) == TRACER_FORKED && flag == 0);
  CHECK(tracer_session_fd(session) == -1);
  CHECK(tracer_session_dispatch(session, -1, NULL) == TRACER_FORKED);
  CHECK(tracer_session_wake(session) == TRACER_FORKED);
  CHECK(tracer_session_flush(session, -1, NULL) == TRACER_FORKED);
  CHECK(tracer_session_track(session, getpid(), NULL, NULL) == TRACER_FORKED);
  CHECK(tracer_session_announce(session, &announcement, NULL) == TRACER_FORKED);
  CHECK(tracer_session_label_thread(session, NULL, &label, NULL) == TRACER_FORKED);
  CHECK(tracer_session_unlabel_thread(session) == TRACER_FORKED);
  CHECK(tracer_session_queue(session, NULL, &queue, NULL) == TRACER_FORKED);
  CHECK(tracer_session_subscribe(session, 0, ignore, NULL, NULL, &subscription, NULL) == TRACER_FORKED);
  CHECK(tracer_session_record(session, tracer_string_of("/tmp/x"), NULL, &sink, NULL) == TRACER_FORKED);
  CHECK(tracer_session_families(session, &list, NULL) == TRACER_FORKED);
  CHECK(tracer_session_statistics(session, &statistics, NULL) == TRACER_FORKED);
  CHECK(tracer_session_host(session, &host) == TRACER_FORKED);
  tracer_error_release(&error);
}

static int in_child(const struct handles* all) {
  walk_failures = 0;
  use_session(all->session);
  CHECK(tracer_queue_read(all->queue, all->buffer, 0, NULL) == TRACER_FORKED);
  CHECK(tracer_queue_wait(all->queue, -1, NULL) == TRACER_FORKED);
  CHECK(tracer_queue_fd(all->queue) == -1);
  CHECK(tracer_sink_problem(all->sink, NULL) == TRACER_FORKED);
  CHECK(tracer_sink_flush(all->sink, -1, NULL) == TRACER_FORKED);
  CHECK(tracer_label_resume(all->label) == TRACER_FORKED && tracer_label_end(all->label) == TRACER_FORKED);
  int status = 0;
  CHECK(tracer_command_release(all->command, NULL) == TRACER_FORKED);
  CHECK(tracer_command_ended(all->command, &status) == TRACER_FORKED);
  CHECK(tracer_command_signal(all->command, 9) == TRACER_FORKED);
  tracer_label_free(all->label);
  tracer_subscription_free(all->subscription);
  tracer_queue_free(all->queue);
  tracer_sink_free(all->sink);
  tracer_session_free(all->session);
  tracer_command_free(all->command);
  CHECK(tracer_writer_flush(all->writer, NULL) == TRACER_FORKED);
  CHECK(tracer_writer_close(all->writer, NULL) == TRACER_FORKED);
  tracer_writer_free(all->writer);
  CHECK(destroyed == 0);
  return walk_failures == 0 ? 0 : 1;
}

void walk_forks(void) {
  tracer_error error = TRACER_ERROR_INIT;
  struct handles all = {0};
  const tracer_string word = tracer_string_of("true");
  tracer_command_options command = TRACER_COMMAND_OPTIONS_INIT;
  command.argv = &word;
  command.argc = 1;
  REQUIRE_OK(tracer_command_new(&command, &all.command, &error));
  tracer_session_options options = TRACER_SESSION_OPTIONS_INIT;
  options.families = TRACER_FAMILY_LIFECYCLE;
  REQUIRE_OK(tracer_session_new(&options, &all.session, &error));
  REQUIRE_OK(tracer_session_queue(all.session, NULL, &all.queue, &error));
  REQUIRE_OK(tracer_session_subscribe(all.session, 0, ignore, NULL, destroy, &all.subscription, &error));
  const char* path = path_in_folder("fork.tracer");
  REQUIRE_OK(tracer_session_record(all.session, tracer_string_of(path), NULL, &all.sink, &error));
  REQUIRE_OK(tracer_session_start(all.session, &error));
  REQUIRE_OK(tracer_session_label_thread(all.session, NULL, &all.label, &error));
  all.buffer = tracer_event_buffer_new(64);
  const char* written = path_in_folder("fork_written.tracer");
  REQUIRE_OK(tracer_writer_new(tracer_string_of(written), NULL, &all.writer, &error));

  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(in_child(&all));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);

  /* The parent has lost nothing by it. */
  REQUIRE_OK(tracer_session_flush(all.session, 60000, &error));
  int exits = 0;
  while (tracer_queue_read(all.queue, all.buffer, 0, NULL) > 0)
    for (size_t i = 0; i < tracer_event_buffer_count(all.buffer); ++i) {
      uint64_t pid = 0;
      const tracer_event* event = tracer_event_buffer_get(all.buffer, i);
      exits += tracer_event_get_u64(event, TRACER_FIELD_PROCESS_EXIT_PID, &pid) == TRACER_OK && pid == (uint64_t)child;
    }
  CHECK(exits == 1);
  REQUIRE_OK(tracer_command_release(all.command, &error));
  while (tracer_command_ended(all.command, &status) == TRACER_ABSENT) usleep(1000);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  REQUIRE_OK(tracer_session_stop(all.session, &error));
  CHECK(tracer_sink_problem(all.sink, &error) == TRACER_OK);
  tracer_label_free(all.label);
  tracer_subscription_free(all.subscription);
  CHECK(destroyed == 1);
  tracer_queue_free(all.queue);
  tracer_sink_free(all.sink);
  tracer_session_free(all.session);
  tracer_command_free(all.command);
  tracer_event_buffer_free(all.buffer);
  CHECK(tracer_writer_close(all.writer, &error) == TRACER_OK);
  tracer_writer_free(all.writer);
}
