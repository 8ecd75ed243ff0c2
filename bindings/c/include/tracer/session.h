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

/* Thread-safe: unless stated otherwise, any thread may call any function, also inside a callback, and no function waits
 * for a callback or a slow consumer. */
typedef struct tracer_session tracer_session;

typedef uint32_t tracer_reader;
enum {
  TRACER_READER_OWN_THREAD = 0, /* The session reads and runs callbacks on its own thread: all signals are blocked. */
  TRACER_READER_POLL = 1        /* The caller reads: tracer_session_fd() and tracer_session_dispatch(). */
};

/* Families of BPF programs, as bits: TRACER_FAMILY_... of fields.h. If a kernel refuses one, the others still work. */
typedef uint32_t tracer_families;

/* Where a session's events come from. */
typedef uint32_t tracer_tier;
enum {
  TRACER_TIER_KERNEL = 0,   /* This machine's kernel, by BPF programs of the session's own: exact. Needs rights. */
  TRACER_TIER_SERVICE = 1,  /* A running `tracerd serve`: exact, and only what the caller may see. Needs no rights. */
  TRACER_TIER_PROC = 2,     /* /proc, looked at again and again: what lived too shortly is missing. Needs no rights. */
  TRACER_TIER_RECORDING = 3 /* A recording. */
};

/* 0 or absent means the default, so { sizeof(tracer_session_options) } is all defaults. */
typedef struct tracer_session_options {
  size_t size;
  tracer_reader reader;
  tracer_families families;        /* 0: the default ones, as in C++. Only the lifecycle: TRACER_FAMILY_LIFECYCLE. */
  const tracer_filter_rule* rules; /* None: all processes that this pid namespace shows (without root: your own). */
  size_t rule_count;               /* All of the same `size`. */
  uint64_t ring_bytes;             /* The kernel's buffer: a power of two times the page size. 0: by the machine. */
  uint64_t max_processes;          /* Tracked at one time; more are counted as lost. 0: by the machine. */
  uint64_t max_contexts;           /* Different labels in one session. 0: 16384. */
  uint64_t max_labeled_threads;    /* At one time. 0: 4096. */
  uint64_t max_announcements;      /* At one time. 0: 131072. */
  int64_t sample_interval_ms;      /* At least 100. 0: 1000. */
  double max_cost_share;           /* Share of one CPU; above it for three seconds, a family is disabled. 0: never. */
  uint32_t keep_secrets;           /* 1: arguments are not masked. */
  uint32_t skip_engine_notes;      /* 1: rules for engines read no file that an engine has written for others. */
  tracer_string tool_rules;        /* Files that replace the built-in rules. Absent: built-in. */
  tracer_string secret_rules;
  tracer_string engine_rules; /* Come before the built-in ones. */
  tracer_string recording;    /* Replays this file, without the kernel and without rights. Absent: the kernel. */
  /* A callback failed: it returned `result`, which is not 0. Called on the same thread; the rules of a callback apply.
   * NULL: failures are only counted. */
  void (*on_error)(void* user_data, int32_t result);
  void* on_error_data;
  /* Called once with on_error_data, when on_error will not be called again, or, if that is NULL, at the end of the
   * session. Not called if tracer_session_new() fails. NULL: nothing. */
  void (*on_error_destroy)(void* user_data);
  uint64_t max_threads; /* Threads whose waits are followed at one time; the ledgers of a process with more are absent,
                           and counted as lost. 0: by the machine. */
  uint64_t max_cgroups; /* Cgroups below those of the filter; processes of further cgroups are not taken in; counted as
                           lost. 0: by the machine. */
  int64_t command_pid;  /* A process that the rules take in, such as that of a command: its program is a run, with the
                           tool's name as inferred run, unless labels or engine rules give its run. 0: none. */
  uint32_t skip_findings;       /* 1: no findings are made, and tasks have no task_ledger. */
  uint32_t hash_paths;          /* 1: events show hashes in place of paths and addresses, "***" of arguments. */
  tracer_string history;        /* A database of earlier runs, made if it is not there. Absent: none. */
  uint32_t tiers;               /* Bits, 1u << TRACER_TIER_…: the first in the order above that works is taken; not
                                   TRACER_TIER_RECORDING. 0: the kernel only. 0 with a recording. */
  uint32_t reserved;            /* 0. */
  tracer_string service_socket; /* Where the service listens. Absent: /run/tracer/tracer.sock. */
} tracer_session_options;

#define TRACER_SESSION_OPTIONS_INIT                                                                              \
  {                                                                                                              \
    sizeof(tracer_session_options), 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
        {NULL, 0}, NULL, NULL, NULL, 0, 0, 0, 0, 0, {NULL, 0}, 0, 0, {                                           \
      NULL, 0                                                                                                    \
    }                                                                                                            \
  }

/* @since 0.1. Loads and checks everything; delivers nothing before tracer_session_start(). NULL options: defaults.
 * TRACER_ERROR_PERMISSION, _NO_BTF, _KERNEL_TOO_OLD, _PROGRAM_REFUSED, _FILTER_NAMES_NOTHING, _INVALID_ARGUMENT,
 * _INVALID_RULES, _FILE_UNREADABLE, _NO_MEMORY and those of tracer_recording_open(); by a service also _NO_SERVICE,
 * _SERVICE_VERSION, _SERVICE_REFUSED. */
TRACER_API tracer_status tracer_session_new(const tracer_session_options* options, tracer_session** out,
                                            tracer_error* error);
/* @since 0.1. Stops it, as tracer_session_stop() does. Its queues, sinks, labels and subscriptions may outlive it.
 * Inside a callback, the end comes when the callback has returned. No other thread may be in a call with it. In a
 * forked child, it only discards the handle. */
TRACER_API void tracer_session_free(tracer_session* session);

/* @since 0.1. Begins to deliver; living processes that the filter takes in come first. Moves the calling thread to each
 * CPU for a moment. A second call does nothing; TRACER_ENDED after the end. */
TRACER_API tracer_status tracer_session_start(tracer_session* session, tracer_error* error);
/* @since 0.1. Delivers all that is pending, a sample of each process that still lives, and the session's end; then
 * nothing more. Waits for a running callback, and up to two seconds for sinks. Idempotent. Don't hold a lock that a
 * callback takes. TRACER_ERROR_IN_CALLBACK. */
TRACER_API tracer_status tracer_session_stop(tracer_session* session, tracer_error* error);
/* @since 0.1. Asks for the end and does not wait: it comes on the session's thread, or with the next dispatch; if
 * called before the start, it comes at the start. Also wakes, as tracer_session_wake() does. */
TRACER_API tracer_status tracer_session_request_stop(tracer_session* session);
/* @since 0.1. *out is 1 once everything is delivered: after the end, or when a recording has ended. */
TRACER_API tracer_status tracer_session_finished(const tracer_session* session, uint8_t* out);

/* @since 0.1. *out is one of TRACER_TIER_…: the tier that was taken. */
TRACER_API tracer_status tracer_session_tier(const tracer_session* session, tracer_tier* out);

/* @since 0.1. One epoll descriptor, owned by the session: don't read, change or close it. -1 only for NULL and in a
 * forked child. Readable while tracer_session_dispatch() has something to do, timers included, after
 * tracer_session_wake(), and while a queue of the session has something to read or has ended, unless the queue is
 * `apart`. It contains other epoll descriptors, and Linux limits their nesting: add it to the epoll that you wait on;
 * that one may be inside one other epoll, but not deeper. */
TRACER_API int tracer_session_fd(const tracer_session* session);
/* @since 0.1. Waits until the descriptor is readable, but at most `timeout_ms`; negative: without a limit. Then, with
 * TRACER_READER_POLL, delivers the waiting events. Returns the number of events; 0 also after a wake, a signal, and
 * with TRACER_READER_OWN_THREAD; or a negative status: TRACER_ERROR_IN_CALLBACK. */
TRACER_API int64_t tracer_session_dispatch(tracer_session* session, int64_t timeout_ms, tracer_error* error);
/* @since 0.1. Makes the waiting tracer_session_dispatch() return, or else the next one. Any thread, and signal
 * handlers. Other waits continue: give tracer_queue_wait(), tracer_session_flush(), tracer_sink_flush() and
 * tracer_session_dispatch_until_ended() a limit if something else must be able to end them. */
TRACER_API tracer_status tracer_session_wake(tracer_session* session);
/* @since 0.1. Waits until everything that happened before the call is delivered to callbacks, queues and the queues of
 * sinks. The exit of a process that the caller waited for has then been delivered. With TRACER_READER_POLL, it delivers
 * itself. Before the start and after the end, it returns TRACER_OK at once. Negative: no limit. TRACER_TIMED_OUT,
 * TRACER_ERROR_IN_CALLBACK. */
TRACER_API tracer_status tracer_session_flush(tracer_session* session, int64_t timeout_ms, tracer_error* error);

/* What is asked of tracer_session_state_json(). 0 or absent: all, so { sizeof(tracer_state_query) } asks for all. */
typedef struct tracer_state_query {
  size_t size;
  tracer_string since;       /* `since` of an earlier reply: only what has changed. Unknown, of another session: all. */
  const tracer_string* rows; /* "runs", "steps", "tasks", "findings", "counts". None: all of these. */
  size_t row_count;
  tracer_string key;           /* A run_key or task_key: with the processes, files and peers of that run or task. */
  const tracer_string* fields; /* Columns of runs, steps and tasks, such as "cpu_ns". None: all. */
  size_t field_count;
} tracer_state_query;

#define TRACER_STATE_QUERY_INIT \
  { sizeof(tracer_state_query), {NULL, 0}, NULL, 0, {NULL, 0}, NULL, 0 }

/* @since 0.1. The present state of what was delivered so far, as one JSON object without a line end, at most 1 MiB:
 * docs/state.md describes it. NULL query: all. Also after the end; of a recording, what was read so far. By a service
 * without rules and hash_paths, the service is asked, and waited for up to two seconds: it answers for all that the
 * caller may see. TRACER_ERROR_INVALID_ARGUMENT (no such rows or field, or a key that is none); by a service also
 * _NO_SERVICE, _SERVICE_REFUSED (one of an earlier version, too). */
TRACER_API tracer_status tracer_session_state_json(const tracer_session* session, const tracer_state_query* query,
                                                   tracer_text** out, tracer_error* error);

/* Called for each event of the subscribed kind: on the session's thread, or, with TRACER_READER_POLL, in the call that
 * delivers. The event is borrowed, valid during the call. Do only quick work in it, because the kernel's ring fills
 * meanwhile; use a queue for slower work. A result other than 0 counts as an error of the callback, and goes to
 * on_error. It must return: no longjmp, no exception. */
typedef int32_t (*tracer_event_callback)(void* user_data, const tracer_event* event);

/* Keeps a callback subscribed. */
typedef struct tracer_subscription tracer_subscription;

/* @since 0.1. Subscribes to events of one kind from now on, or, with TRACER_EVENT_NONE, of all kinds.
 * tracer_subscription_free() calls `destroy` (NULL: nothing) once with `user_data`; it is not called if this call
 * fails. TRACER_ENDED. */
TRACER_API tracer_status tracer_session_subscribe(tracer_session* session, tracer_event_kind kind,
                                                  tracer_event_callback callback, void* user_data,
                                                  void (*destroy)(void* user_data), tracer_subscription** out,
                                                  tracer_error* error);
/* @since 0.1. When it returns, the callback is not running and never runs again: it waits for a running one. Inside the
 * callback itself it does not wait, and `destroy` is called when that has returned. */
TRACER_API void tracer_subscription_free(tracer_subscription* subscription);

/* @since 0.1. Takes in a living process and its descendants from now on, or from the start on; processes that are
 * already followed get the new labels. NULL context: none. Does nothing with recordings.
 * TRACER_ERROR_FILTER_NAMES_NOTHING, _INVALID_ARGUMENT beyond max_contexts; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_track(tracer_session* session, int32_t pid, const tracer_context* context,
                                              tracer_error* error);
/* @since 0.1. Announces which run or task processes belong to, before they begin or while they live. An announcement
 * with the same key adds to the earlier one, and wins over it. One that matches no process expires, and is counted.
 * Does nothing with recordings. Members that its key does not use must be 0 or absent. TRACER_ERROR_INVALID_ARGUMENT (a
 * key that matches everything, an empty context, more than 64 KiB or 64 labels), _FILTER_NAMES_NOTHING (the process is
 * gone), _PERMISSION (without root: another user's folder or process); TRACER_ENDED. */
TRACER_API tracer_status tracer_session_announce(tracer_session* session, const tracer_announcement* announcement,
                                                 tracer_error* error);

/* @since 0.2. Reports a task that waits for its turn, or a run with what is expected of it. `key` gets its task_key, or
 * run_key; NULL: not wanted. Submitting it again replaces its context and requests, and keeps its time. Events of the
 * kind TRACER_EVENT_TASK_SUBMIT report what becomes of it. TRACER_ERROR_INVALID_ARGUMENT (no engine, run_id and
 * task_id; more than 64 KiB), _SERVICE_REFUSED; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_submit(tracer_session* session, const tracer_submission* submission,
                                               uint64_t* key, tracer_error* error);
/* @since 0.2. Reports that a submitted task is over, or a run with all that is still queued of it. `outcome`:
 * "succeeded", "failed", "cached", "aborted" or "unknown". `exit_code`: NULL: not known. A key that is not known
 * changes nothing. TRACER_ERROR_INVALID_ARGUMENT; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_withdraw(tracer_session* session, uint64_t key, tracer_string outcome,
                                                 const int32_t* exit_code, tracer_error* error);

/* The scope of a thread's label. May outlive the session. */
typedef struct tracer_label tracer_label;

/* @since 0.1. Labels the processes that the calling thread forks, and their descendants, until the label ends; also
 * those that threads created by it fork. The kernel decides at the fork. Labeled processes are followed even if no
 * include rule matches, unless the filter excludes them. Inside the scope of another label, this one counts. Two scopes
 * with equal contexts are one task: give each a task_id to separate them. NULL context: the labels of the calling
 * process. May be called before the start, and then holds for forks after the start. Does nothing with recordings.
 * TRACER_ERROR_INVALID_ARGUMENT beyond max_contexts or max_labeled_threads; TRACER_ENDED. */
TRACER_API tracer_status tracer_session_label_thread(tracer_session* session, const tracer_context* context,
                                                     tracer_label** out, tracer_error* error);
/* @since 0.1. Until a label is set or resumed, processes that the calling thread forks get no thread label: only the
 * filter takes them in. May be called before the start. Does nothing with recordings, and after the end. */
TRACER_API tracer_status tracer_session_unlabel_thread(tracer_session* session);
/* @since 0.1. Gives the calling thread this label again, whichever thread began it, until another is set. Does nothing
 * once it has ended. */
TRACER_API tracer_status tracer_label_resume(tracer_label* label);
/* @since 0.1. Ends the label: it labels nothing from now on, and the thread has the label of its innermost outer scope
 * that has not ended, unless it has another by now. Any thread; idempotent. */
TRACER_API tracer_status tracer_label_end(tracer_label* label);
/* @since 0.1. Ends it. In a forked child, it only discards the handle. */
TRACER_API void tracer_label_free(tracer_label* label);

#ifdef __cplusplus
}
#endif

#endif
