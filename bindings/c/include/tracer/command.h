/* SPDX-License-Identifier: Apache-2.0 */
/* Running a command so that a session sees all of it, from its first instruction to its last switch. */
#ifndef TRACER_COMMAND_H
#define TRACER_COMMAND_H

#include <tracer/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tracer_command_options {
  size_t size;
  const tracer_string* argv; /* Bytes, without NUL. The first word is looked up in PATH, unless it has a '/'. */
  size_t argc;               /* At least 1. */
  tracer_string user;        /* Name or number; absent: the caller. */
  /* Called in the new process before it executes the command, as that user: to change its folder, its descriptors or
   * its signals. It may do only what is async-signal-safe. NULL: nothing. */
  void (*prepare)(void* user_data);
  void* prepare_data;
  const tracer_string* environment; /* "NAME=value" each; PATH in it counts. NULL: the caller's. */
  size_t environment_count;         /* 0 where `environment` is NULL. */
  /* 1: the command executes in tracer_command_new(), and tracer_command_release() only reports whether it could. For a
   * session that already follows the caller: the caller's memory is not copied, however large it is, and `prepare` runs
   * in it. Not with a user. */
  uint32_t at_once;
  uint32_t reserved; /* 0. */
} tracer_command_options;

#define TRACER_COMMAND_OPTIONS_INIT \
  { sizeof(tracer_command_options), NULL, 0, {NULL, 0}, NULL, NULL, NULL, 0, 0, 0 }

/* A command that waits until tracer_command_release() to execute, so that a session can start on its pid before. Used
 * by one thread at a time. If other code waits for its pid, or SIGCHLD is ignored, its status is lost. */
typedef struct tracer_command tracer_command;

/* @since 0.1. Forks. TRACER_ERROR_INVALID_ARGUMENT, _NO_SUCH_USER, _PERMISSION, _INTERNAL. */
TRACER_API tracer_status tracer_command_new(const tracer_command_options* options, tracer_command** out,
                                            tracer_error* error);
/* @since 0.1. A command that was never released ends; one that runs, or was started at once, continues. In a forked
 * child, it only discards the handle. */
TRACER_API void tracer_command_free(tracer_command* command);
/* @since 0.1. 0 for NULL. */
TRACER_API int32_t tracer_command_pid(const tracer_command* command);
/* @since 0.1. Lets the command execute. TRACER_ERROR_COMMAND_NOT_FOUND, _COMMAND_NOT_EXECUTABLE, _PERMISSION;
 * TRACER_ENDED: it was released before. */
TRACER_API tracer_status tracer_command_release(tracer_command* command, tracer_error* error);
/* @since 0.1. Does not wait. *wait_status is that of waitpid(). TRACER_ABSENT: it has not ended; TRACER_ENDED: it could
 * not be executed; TRACER_REAPED: it has ended, and other code has waited for it. */
TRACER_API tracer_status tracer_command_ended(tracer_command* command, int* wait_status);
/* @since 0.1. Sends it a signal, never to another process that has its pid by now. TRACER_ENDED: it was waited for;
 * TRACER_ERROR_INVALID_ARGUMENT: no such signal; TRACER_ERROR_PERMISSION. */
TRACER_API tracer_status tracer_command_signal(const tracer_command* command, int number);

/* Follows a command's own process through the events of a session. A callback passes all events to saw(); any thread
 * may call ended(). */
typedef struct tracer_command_trace tracer_command_trace;
/* @since 0.1. Takes the pid of tracer_command_pid(). NULL: no memory. */
TRACER_API tracer_command_trace* tracer_command_trace_new(int32_t pid);
/* @since 0.1 */
TRACER_API void tracer_command_trace_free(tracer_command_trace* trace);
/* @since 0.1. 0: the event is not part of the command: until its first exec, its process is a copy of the caller. */
TRACER_API uint8_t tracer_command_trace_saw(tracer_command_trace* trace, const tracer_event* event);
/* @since 0.1. 1: its last switch was seen, its accounts are final. A parent is notified of the end a moment before. */
TRACER_API uint8_t tracer_command_trace_ended(const tracer_command_trace* trace);
/* @since 0.1. Strings: the arguments of its first program, with secrets masked; none until that was seen. Call it only
 * while no event is being dispatched. */
TRACER_API tracer_status tracer_command_trace_argv(const tracer_command_trace* trace, tracer_list** out,
                                                   tracer_error* error);
/* @since 0.1. TRACER_READER_POLL: delivers until the trace has ended. Negative: without a limit. TRACER_TIMED_OUT: it
 * has not ended; its exit may have been lost. TRACER_ENDED: the session ended before. TRACER_ERROR_IN_CALLBACK,
 * _CONTRADICTION (another reader). */
TRACER_API tracer_status tracer_session_dispatch_until_ended(tracer_session* session, const tracer_command_trace* trace,
                                                             int64_t timeout_ms, tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
