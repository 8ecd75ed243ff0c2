/* SPDX-License-Identifier: Apache-2.0 */
/* A running capture. */
#ifndef TRACER_SESSION_H
#define TRACER_SESSION_H

#include <tracer/context.h>
#include <tracer/event.h>
#include <tracer/list.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-safe: any function may be called from any thread, callbacks included, except where it says otherwise; none
 * waits for a callback or a slow consumer, except where it says so. */
typedef struct tracer_session tracer_session;

typedef uint32_t tracer_reader;
enum {
  TRACER_READER_OWN_THREAD =
      0,                 /* The session reads, and calls back, on a thread of its own: all signals are blocked. */
  TRACER_READER_POLL = 1 /* The caller does: tracer_session_fd() and tracer_session_dispatch(). */
};

/* What a session can see, as bits: TRACER_FAMILY_... of fields.h. When a kernel refuses one, the others work all the
 * same. */
typedef uint32_t tracer_families;

/* What is 0 or absent is the default, so that { sizeof(tracer_session_options) } is all defaults. */
typedef struct tracer_session_options {
  size_t size;
  tracer_reader reader;
  tracer_families families; /* 0: the default ones, as in C++. None but the lifecycle: TRACER_FAMILY_LIFECYCLE. */
  const tracer_filter_rule* rules; /* None: every one that this pid namespace shows (without root: your own). */
  size_t rule_count;               /* All of the same `size`. */
  uint64_t ring_bytes;          /* Between kernel and reader: a power of two times the page size. 0: by the machine. */
  uint64_t max_processes;       /* Tracked at one time; more are counted as lost. 0: by the machine. */
  uint64_t max_contexts;        /* Different labels in one session. 0: 16384. */
  uint64_t max_labeled_threads; /* At one time. 0: 4096. */
  uint64_t max_announcements;   /* At one time. 0: 131072. */
  int64_t sample_interval_ms;   /* At least 100. 0: 1000. */
  double max_cost_share;        /* Of one CPU; above it for three seconds, a family is disabled. 0: never. */
  uint32_t keep_secrets;        /* 1: arguments are not masked. */
  uint32_t skip_engine_notes;   /* 1: rules for engines read no file that an engine has written for others. */
  tracer_string tool_rules;     /* Files, instead of the built-in rules. Absent: built-in. */
  tracer_string secret_rules;
  tracer_string engine_rules; /* In front of the built-in ones. */
  tracer_string recording;    /* Replays this file; no kernel is asked, no rights are needed. Absent: the kernel. */
  /* A callback failed: it has returned `result`, which is not 0. On the thread that called it, and with the rules of a
   * callback. NULL: only counted. */
  void (*on_error)(void* user_data, int32_t result);
  void* on_error_data;
  /* Called once with on_error_data, when on_error will not be called again, or where it is NULL with the end of the
   * session. Not when tracer_session_new() fails. NULL: nothing. */
  void (*on_error_destroy)(void* user_data);
  uint64_t max_threads; /* Whose waits are followed at one time; of a process with more, the ledgers are absent, and
                         * counted. 0: by the machine. */
  uint64_t max_cgroups; /* Below the cgroups of the filter; processes of more are not taken in, and counted. 0: by the
                         * machine. */
  int64_t command_pid;  /* A process that the rules take in, such as a command's: what it executes is a run, with the
                         * tool's name as inferred run, unless labels or an engine say of which run it is. 0: none. */
} tracer_session_options;

#define TRACER_SESSION_OPTIONS_INIT                                                                              \
  {                                                                                                              \
    sizeof(tracer_session_options), 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
        {NULL, 0}, NULL, NULL, NULL, 0, 0, 0                                                                     \
  }

/* @since 0.1. Loads and checks everything; delivers nothing before tracer_session_start(). NULL options: defaults.
 * TRACER_ERROR_PERMISSION, _NO_BTF, _KERNEL_TOO_OLD, _PROGRAM_REFUSED, _FILTER_NAMES_NOTHING, _INVALID_ARGUMENT,
 * _INVALID_RULES, _FILE_UNREADABLE, _NO_MEMORY and those of tracer_recording_open(). */
TRACER_API tracer_status tracer_session_new(const tracer_session_options* options, tracer_session** out,
                                            tracer_error* error);
/* @since 0.1. Stops it, as tracer_session_stop() does. What was made of it may outlive it. Inside a callback the end
 * comes when the callback has returned. No other thread may be in a call with it. In a fork's child it only forgets it.
 */
TRACER_API void tracer_session_free(tracer_session* session);

/* @since 0.1. Begins to deliver; living processes that the filter takes in come first. Moves the calling thread over
 * all CPUs for a moment. A second call does nothing; TRACER_ENDED after the end. */
TRACER_API tracer_status tracer_session_start(tracer_session* session, tracer_error* error);
/* @since 0.1. Delivers all that is pending, a sample of each process that still lives, and the session's end; then
 * nothing more. Waits for a running callback, and up to two seconds for sinks. Idempotent. Don't hold a lock that a
 * callback takes. TRACER_ERROR_IN_CALLBACK. */
TRACER_API tracer_status tracer_session_stop(tracer_session* session, tracer_error* error);
/* @since 0.1. Asks for the end and does not wait: it comes on the session's thread, or with the next dispatch, and
 * before the start with that. Also wakes, as tracer_session_wake() does. */
TRACER_API tracer_status tracer_session_request_stop(tracer_session* session);
/* @since 0.1. *out is 1 when all was delivered: after the end, or when a recording has ended. */
TRACER_API tracer_status tracer_session_finished(const tracer_session* session, uint8_t* out);

/* @since 0.1. One epoll descriptor, the session's: don't read, change or close it. -1 only of NULL and in a fork's
 * child. Readable while tracer_session_dispatch() has something to do, which includes what is due by time, after
 * tracer_session_wake(), and while a queue of the session has something to read or has ended, unless it is `apart`. It
 * has other epoll descriptors in it, of which Linux allows no deep nesting: put it into the epoll that you wait on,
 * which itself may be in one other, not in more. */
TRACER_API int tracer_session_fd(const tracer_session* session);
/* @since 0.1. Waits until the descriptor is readable, but at most `timeout_ms`; negative: without a limit. Then, with
 * TRACER_READER_POLL, delivers what is there. Returns the number of events; 0 also after a wake, a signal, and with
 * TRACER_READER_OWN_THREAD; or a negative status: TRACER_ERROR_IN_CALLBACK. */
TRACER_API int64_t tracer_session_dispatch(tracer_session* session, int64_t timeout_ms, tracer_error* error);
/* @since 0.1. Lets a tracer_session_dispatch() return that waits now, or else the next one. From any thread, and in a
 * signal handler. Other waits go on: give tracer_queue_wait(), tracer_session_flush(), tracer_sink_flush() and
 * tracer_session_dispatch_until_ended() a limit where something else may end them. */
TRACER_API tracer_status tracer_session_wake(tracer_session* session);
/* @since 0.1. Waits until all that happened before the call was delivered to callbacks, queues and the queues of sinks.
 * A process that was waited for has had its exit then. With TRACER_READER_POLL it delivers itself. Before the start and
 * after the end there is nothing to wait for: TRACER_OK. Negative: no limit. TRACER_TIMED_OUT,
 * TRACER_ERROR_IN_CALLBACK.
 */
TRACER_API tracer_status tracer_session_flush(tracer_session* session, int64_t timeout_ms, tracer_error* error);

/* Called for each event that was asked for: on the session's thread, or in what delivers with TRACER_READER_POLL. The
 * event is borrowed, valid during the call. For quick work only: the kernel's ring fills meanwhile; what takes longer
 * belongs in a queue. What is not 0 is counted as an error of the callback, and given to on_error. It must return: no
 * longjmp, no exception. */
typedef int32_t (*tracer_event_callback)(void* user_data, const tracer_event* event);

/* Keeps a callback subscribed. */
typedef struct tracer_subscription tracer_subscription;

/* @since 0.1. Events of one kind from now on, or with TRACER_EVENT_NONE of all kinds. `destroy` (NULL: nothing) is
 * called once with `user_data`, by the free; not when this call fails. TRACER_ENDED. */
TRACER_API tracer_status tracer_session_subscribe(tracer_session* session, tracer_event_kind kind,
                                                  tracer_event_callback callback, void* user_data,
                                                  void (*destroy)(void* user_data), tracer_subscription** out,
                                                  tracer_error* error);
/* @since 0.1. When it returns, the callback is not running and never runs again: it waits for a running one. Inside the
 * callback itself it does not wait, and `destroy` is called when that has returned. */
TRACER_API void tracer_subscription_free(tracer_subscription* subscription);

/* @since 0.1. Takes in a living process and its descendants from now on, or from the start on; those that are followed
 * already get the new labels. NULL context: none. Nothing happens with recordings. TRACER_ERROR_FILTER_NAMES_NOTHING,
 * _INVALID_ARGUMENT beyond max_contexts; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_track(tracer_session* session, int32_t pid, const tracer_context* context,
                                              tracer_error* error);
/* @since 0.1. Says which run or task processes are in, before they begin or while they live. One with the same key adds
 * to the earlier one, and wins over it. What no process meets expires, and is counted. Nothing happens with recordings.
 * What its key has no use for must be 0 or absent. TRACER_ERROR_INVALID_ARGUMENT (a key that matches everything,
 * nothing said, more than 64 KiB or 64 labels), _FILTER_NAMES_NOTHING (the process is gone), _PERMISSION (without root:
 * another user's folder or process); TRACER_ENDED. */
TRACER_API tracer_status tracer_session_announce(tracer_session* session, const tracer_announcement* announcement,
                                                 tracer_error* error);

/* The scope of a thread's label. Opaque, of no size that a caller could know. May outlive the session. */
typedef struct tracer_label tracer_label;

/* @since 0.1. What the calling thread forks from now on has these labels, until the label ends; so have the threads
 * that it makes, for what they fork, and all that comes of them. Decided in the kernel at the fork. Such processes are
 * followed whatever the filter takes in, but for those that it excludes. Within another label's scope this one counts.
 * Two scopes with equal contexts are one task: give a task_id to tell them apart. NULL context: the labels of the
 * calling process. Before the start it is set, and holds for what is forked from then on. With recordings nothing
 * happens. TRACER_ERROR_INVALID_ARGUMENT beyond max_contexts or max_labeled_threads; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_label_thread(tracer_session* session, const tracer_context* context,
                                                     tracer_label** out, tracer_error* error);
/* @since 0.1. What the calling thread forks from now on has no label of a thread, until one is set or resumed: only the
 * filter takes it in. Before the start likewise. With recordings, and after the end, nothing happens. */
TRACER_API tracer_status tracer_session_unlabel_thread(tracer_session* session);
/* @since 0.1. The calling thread has this label again, whichever thread began it, until another is set. Nothing happens
 * once it has ended. */
TRACER_API tracer_status tracer_label_resume(tracer_label* label);
/* @since 0.1. Nothing is labeled by it from now on; the thread has the label of the innermost outer scope again that
 * has not ended, unless it has another by now. Any thread; idempotent. */
TRACER_API tracer_status tracer_label_end(tracer_label* label);
/* @since 0.1. Ends it. In a fork's child it only forgets it. */
TRACER_API void tracer_label_free(tracer_label* label);

#ifdef __cplusplus
}
#endif

#endif
