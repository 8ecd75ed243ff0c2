/* SPDX-License-Identifier: Apache-2.0 */
/* What a session, a machine or an event can be asked for: a copy as of the call, in a list of one kind of element. */
#ifndef TRACER_LIST_H
#define TRACER_LIST_H

#include <tracer/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tracer_session;

/* Never changes: threads may share it. Its strings are valid as long as the list. */
typedef struct tracer_list tracer_list;
/* @since 0.1. 0 of NULL. */
TRACER_API size_t tracer_list_count(const tracer_list* list);
/* @since 0.1. */
TRACER_API void tracer_list_free(tracer_list* list);

/* The getters below: `out->size` must be set. TRACER_WRONG_KIND: the list has other elements; TRACER_OUT_OF_RANGE;
 * TRACER_WRONG_SIZE. */

/* @since 0.1. Of tracer_session_explain() and tracer_command_trace_argv(). */
TRACER_API tracer_status tracer_list_string(const tracer_list* list, size_t index, tracer_string* out);
/* @since 0.1. Of tracer_session_rule_problems(). */
TRACER_API tracer_status tracer_list_problem(const tracer_list* list, size_t index, tracer_problem* out);

typedef struct tracer_family_state {
  size_t size;
  tracer_string name;      /* "lifecycle", "waits" … UTF-8. */
  tracer_string mechanism; /* The kernel hooks it uses. */
  uint32_t family;         /* TRACER_FAMILY_LIFECYCLE … */
  uint8_t active;
  uint8_t has_problem; /* It is not active although requested, or something of it is missing. */
  uint8_t reserved[2];
  tracer_status status; /* Of the problem. */
  int32_t error_number;
  tracer_string what;
  tracer_string fix;
  tracer_string detail;
} tracer_family_state;

#define TRACER_FAMILY_STATE_INIT                                                                                \
  {                                                                                                             \
    sizeof(tracer_family_state), {NULL, 0}, {NULL, 0}, 0, 0, 0, {0, 0}, 0, 0, {NULL, 0}, {NULL, 0}, { NULL, 0 } \
  }

/* @since 0.1. The state of each requested family. Empty for recordings. */
TRACER_API tracer_status tracer_session_families(const struct tracer_session* session, tracer_list** out,
                                                 tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_family(const tracer_list* list, size_t index, tracer_family_state* out);

typedef struct tracer_check_item {
  size_t size;
  tracer_string name;   /* "capability CAP_BPF" … UTF-8. */
  tracer_string effect; /* What it makes possible, or which fields are absent without it. */
  uint8_t required;
  uint8_t available;
  uint8_t reserved[2];
  tracer_status status; /* Why it is not available; TRACER_OK: it is. */
  int32_t error_number;
  uint32_t reserved2;
  tracer_string what;
  tracer_string fix;
  tracer_string detail;
} tracer_check_item;

#define TRACER_CHECK_ITEM_INIT                                                                                \
  {                                                                                                           \
    sizeof(tracer_check_item), {NULL, 0}, {NULL, 0}, 0, 0, {0, 0}, 0, 0, 0, {NULL, 0}, {NULL, 0}, { NULL, 0 } \
  }

/* @since 0.1. What this machine and this process allow. Loads nothing, changes nothing. Any thread. */
TRACER_API tracer_status tracer_check(tracer_list** out, tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_check_item(const tracer_list* list, size_t index, tracer_check_item* out);
/* @since 0.1. Checks a file of rules for engines and tries its examples. TRACER_ERROR_INVALID_RULES, with all mistakes;
 * TRACER_ERROR_FILE_UNREADABLE. */
TRACER_API tracer_status tracer_check_engine_rules(tracer_string path, tracer_error* error);

/* Bits of tracer_statistics.present. */
#define TRACER_HAS_COST_KERNEL_NS (UINT64_C(1) << 0)
#define TRACER_HAS_COST_MEMORY_BYTES (UINT64_C(1) << 1)
#define TRACER_HAS_COST_KERNEL_MEMORY_BYTES (UINT64_C(1) << 2)

/* Since the session started. */
typedef struct tracer_statistics {
  size_t size;
  uint64_t present;
  uint64_t records; /* From the kernel. */
  uint64_t record_bytes;
  uint64_t events;          /* Dispatched. */
  uint64_t callback_errors; /* Callbacks that returned other than 0; no event was lost to the others. */
  uint64_t secrets_masked;
  uint64_t announcements_met;
  uint64_t announcements_expired;
  uint64_t announcements_refused;
  uint64_t lost;        /* Of all causes: tracer_session_losses(). */
  uint64_t cost_cpu_ns; /* Reading, decoding, snapshots, callbacks; and the threads of sinks. */
  uint64_t cost_snapshots_cpu_ns;
  uint64_t cost_kernel_ns;    /* Of the programs in the kernel. */
  uint64_t cost_memory_bytes; /* Resident now, of the whole process. */
  uint64_t cost_kernel_memory_bytes;
} tracer_statistics;

#define TRACER_STATISTICS_INIT \
  { sizeof(tracer_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* @since 0.1 */
TRACER_API tracer_status tracer_session_statistics(const struct tracer_session* session, tracer_statistics* out,
                                                   tracer_error* error);

typedef struct tracer_loss_count {
  size_t size;
  tracer_string cause; /* As in docs/losses.md. */
  uint64_t count;
} tracer_loss_count;

#define TRACER_LOSS_COUNT_INIT \
  { sizeof(tracer_loss_count), {NULL, 0}, 0 }

/* @since 0.1. By cause, only those that occurred. */
TRACER_API tracer_status tracer_session_losses(const struct tracer_session* session, tracer_list** out,
                                               tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_loss(const tracer_list* list, size_t index, tracer_loss_count* out);

/* Sums of all processes of one context that have ended, added up in the kernel. `present` has the bits of
 * tracer_event_flat. */
typedef struct tracer_totals {
  size_t size;
  uint64_t present;
  uint64_t living; /* Begun or taken in, and not ended yet. */
  uint64_t ended;
  uint64_t failed;
  uint64_t cpu_ns;
  uint64_t user_ns;
  uint64_t system_ns;
  uint64_t run_queue_ns;
  uint64_t minor_faults;
  uint64_t major_faults;
  uint64_t voluntary_switches;
  uint64_t involuntary_switches;
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t storage_read_bytes;
  uint64_t storage_written_bytes;
  tracer_string pipeline;
  tracer_string run;
  tracer_string step;
  tracer_string sample;
  tracer_string task;
  tracer_string task_id;
  tracer_string engine;
  uint32_t attempt;
  uint32_t reserved;
} tracer_totals;

#define TRACER_TOTALS_INIT                                                                                             \
  {                                                                                                                    \
    sizeof(tracer_totals), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
        {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0                                                                          \
  }

/* @since 0.1. By context. Empty for recordings. */
TRACER_API tracer_status tracer_session_totals(const struct tracer_session* session, tracer_list** out,
                                               tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_totals(const tracer_list* list, size_t index, tracer_totals* out);

/* @since 0.1. Strings: what each rule of the filter does, and whether the kernel or user space decides it. */
TRACER_API tracer_status tracer_session_explain(const struct tracer_session* session, tracer_list** out,
                                                tracer_error* error);
/* @since 0.1. Problems: the mistakes in engine_rules. A rule that has one is left out, and the others hold. */
TRACER_API tracer_status tracer_session_rule_problems(const struct tracer_session* session, tracer_list** out,
                                                      tracer_error* error);

/* How one field of a context is known. */
typedef struct tracer_reason {
  size_t size;
  tracer_string field; /* "step", "attempt"; of a label "label.NAME". */
  tracer_string value;
  tracer_string rule;           /* Of the rules for engines; empty: it was no rule. */
  tracer_string condition;      /* What that rule asks for. */
  tracer_provenance provenance; /* 0: nobody has said it. */
  uint8_t overruled;            /* Something stronger has said otherwise. */
  uint8_t reserved[6];
} tracer_reason;

#define TRACER_REASON_INIT                                                                        \
  {                                                                                               \
    sizeof(tracer_reason), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, { 0, 0, 0, 0, 0, 0 } \
  }

/* @since 0.1. Why the context of an event is as it is. `engine_rules`: a file, or absent. TRACER_ABSENT: it has none.
 */
TRACER_API tracer_status tracer_event_explain(const tracer_event* event, tracer_string engine_rules, tracer_list** out,
                                              tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_reason(const tracer_list* list, size_t index, tracer_reason* out);

/* @since 0.1. What the rules find of a process that lives, from it and its ancestors alone, as an event of the kind
 * TRACER_EVENT_PROCESS_START that is the caller's. No session is asked. TRACER_ERROR_FILTER_NAMES_NOTHING. */
TRACER_API tracer_status tracer_resolve_process(int32_t pid, tracer_string engine_rules, tracer_event** out,
                                                tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
