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

/* A host program that waits for all its children takes the status away: there is an end nevertheless. */
static void reaped_by_another(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_command* command = NULL;
  REQUIRE_OK(make("true", "x", NULL, &command, &error));
  REQUIRE_OK(tracer_command_release(command, &error));
  REQUIRE(waitpid(tracer_command_pid(command), NULL, 0) == tracer_command_pid(command));
  int status = 9;
  CHECK(tracer_command_ended(command, &status) == TRACER_REAPED && status == 0);
  CHECK(tracer_command_ended(command, &status) == TRACER_REAPED);
  CHECK(tracer_command_signal(command, SIGKILL) == TRACER_ENDED);
  tracer_command_free(command);
}

static void signals(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_command* command = NULL;
  REQUIRE_OK(make("sleep", "1000", "0", &command, &error));
  REQUIRE_OK(tracer_command_release(command, &error));
  CHECK(tracer_command_signal(command, 9999) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_command_signal(command, -1) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_command_signal(command, 0) == TRACER_OK);
  if (getuid() == 0) { /* Somebody who may not. */
    REQUIRE(setresuid(65534, 65534, 0) == 0);
    CHECK(tracer_command_signal(command, SIGTERM) == TRACER_ERROR_PERMISSION);
    REQUIRE(setresuid(0, 0, 0) == 0);
  }
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_OK);
  CHECK(WTERMSIG(wait_for(command)) == SIGTERM);
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_ENDED);
  tracer_command_free(command);
}

/* Without a copy of the caller: it runs when it is made, and the release says whether it could. */
static void at_once(void) {
  tracer_error error = TRACER_ERROR_INIT;
  const tracer_string argv[] = {tracer_string_of("sh"), tracer_string_of("-c"), tracer_string_of("exit 3")};
  tracer_command_options options = TRACER_COMMAND_OPTIONS_INIT;
  options.argv = argv;
  options.argc = 3;
  options.at_once = 1;
  tracer_command* command = NULL;
  REQUIRE_OK(tracer_command_new(&options, &command, &error));
  CHECK(WEXITSTATUS(wait_for(command)) == 3);
  CHECK(tracer_command_release(command, &error) == TRACER_OK);
  tracer_command_free(command);
  const tracer_string missing = tracer_string_of("no-such-command-anywhere");
  options.argv = &missing;
  options.argc = 1;
  REQUIRE_OK(tracer_command_new(&options, &command, &error));
  int status = 0;
  CHECK(tracer_command_ended(command, &status) == TRACER_ENDED);
  CHECK(tracer_command_signal(command, SIGKILL) == TRACER_ENDED);
  CHECK(tracer_command_release(command, &error) == TRACER_ERROR_COMMAND_NOT_FOUND);
  CHECK(tracer_command_ended(command, &status) == TRACER_ENDED);
  tracer_command_free(command);
  options.user = tracer_string_of("0");
  CHECK(tracer_command_new(&options, &command, &error) == TRACER_ERROR_INVALID_ARGUMENT && command == NULL);
  options.user = tracer_string_of(NULL);
  options.at_once = 2;
  CHECK(tracer_command_new(&options, &command, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  options.at_once = 1;
  options.reserved = 1;
  CHECK(tracer_command_new(&options, &command, &error) == TRACER_WRONG_SIZE);
  tracer_error_release(&error);
}

/* The end of the session is an end of the wait, too: its exit will not be seen. */
static void session_ends_before(void) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_session* session = replay(TRACER_READER_POLL);
  tracer_command_trace* trace = tracer_command_trace_new(1);
  REQUIRE_OK(tracer_session_start(session, &error));
  CHECK(tracer_session_dispatch_until_ended(session, trace, 500, &error) == TRACER_ENDED);
  tracer_error_release(&error);
  tracer_command_trace_free(trace);
  tracer_session_free(session);
}

void walk_commands(void) {
  reaped_by_another();
  signals();
  at_once();
  session_ends_before();
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
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_OK);
  const int status = wait_for(command);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  CHECK(tracer_command_signal(command, SIGTERM) == TRACER_ENDED);
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
