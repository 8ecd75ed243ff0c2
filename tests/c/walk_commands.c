/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static tracer_status make(const char* word, const char* argument, const char* user, tracer_command** out,
                          tracer_error* error) {
  const tracer_string argv[] = {tracer_string_of(word), tracer_string_of(argument)};
  tracer_command_options options = TRACER_COMMAND_OPTIONS_INIT;
  options.argv = argv;
  options.argc = 2;
  options.user = tracer_string_of(user);
  return tracer_command_new(&options, out, error);
}

static int wait_for(tracer_command* command) {
  int status = 0;
  while (tracer_command_ended(command, &status) == TRACER_ABSENT) usleep(1000);
  return status;
}

void walk_commands(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_command* command = NULL;
  REQUIRE_OK(make("no-such-command-anywhere", "x", NULL, &command, &error));
  CHECK(tracer_command_release(command, &error) == TRACER_ERROR_COMMAND_NOT_FOUND);
  tracer_command_free(command);
  REQUIRE_OK(make(path_in_folder("text"), "x", NULL, &command, &error));
  CHECK(tracer_command_release(command, &error) == TRACER_ERROR_COMMAND_NOT_EXECUTABLE);
  int never = 0;
  CHECK(tracer_command_ended(command, &never) == TRACER_ENDED);
  tracer_command_free(command);
  CHECK(make("true", "x", "no-such-user-anywhere", &command, &error) == TRACER_ERROR_NO_SUCH_USER && command == NULL);
  tracer_command_options empty = TRACER_COMMAND_OPTIONS_INIT;
  CHECK(tracer_command_new(&empty, &command, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  tracer_error_release(&error);

  REQUIRE_OK(make("sleep", "1000", "0", &command, &error));
  REQUIRE_OK(tracer_command_release(command, &error));
  CHECK(tracer_command_signal(command, 9999) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_OK);
  const int status = wait_for(command);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_ENDED); /* Nobody gets it. */
  tracer_command_free(command);

  /* One that was never released ends with its handle. */
  REQUIRE_OK(make("sleep", "1000", NULL, &command, &error));
  const pid_t pid = tracer_command_pid(command);
  CHECK(pid > 0 && kill(pid, 0) == 0);
  tracer_command_free(command);
  CHECK(kill(pid, 0) != 0 && errno == ESRCH);
  CHECK(tracer_command_pid(NULL) == 0);

  tracer_session* session = replay(TRACER_READER_OWN_THREAD);
  tracer_command_trace* trace = tracer_command_trace_new(1);
  CHECK(tracer_session_dispatch_until_ended(session, trace, 10, &error) == TRACER_ERROR_CONTRADICTION);
  tracer_error_release(&error);
  tracer_command_trace_free(trace);
  tracer_session_free(session);
}
