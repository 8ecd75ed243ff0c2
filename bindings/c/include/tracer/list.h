/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of facts about a session, a machine or an event: a copy at the time of the call, with one kind of element. */
#ifndef TRACER_LIST_H
#define TRACER_LIST_H

#include <tracer/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tracer_session;

/* Never changes: threads may share it. Its strings are valid as long as the list. */
typedef struct tracer_list tracer_list;
/* @since 0.1. 0 for NULL. */
TRACER_API size_t tracer_list_count(const tracer_list* list);
/* @since 0.1. */
TRACER_API void tracer_list_free(tracer_list* list);

/* The getters below: `out->size` must be set. TRACER_WRONG_KIND: the list has other elements; TRACER_OUT_OF_RANGE;
 * TRACER_WRONG_SIZE. */

/* @since 0.1. For tracer_session_explain() and tracer_command_trace_argv(). */
TRACER_API tracer_status tracer_list_string(const tracer_list* list, size_t index, tracer_string* out);
/* @since 0.1. For tracer_session_rule_problems(). */
TRACER_API tracer_status tracer_list_problem(const tracer_list* list, size_t index, tracer_problem* out);

typedef struct tracer_family_state {
  size_t size;
  tracer_string name;      /* "lifecycle", "waits" … UTF-8. */
  tracer_string mechanism; /* The kernel hooks it uses. */
  uint32_t family;         /* TRACER_FAMILY_LIFECYCLE … */
  uint8_t active;
  uint8_t has_problem; /* It is not active although requested, or a part is missing. */
  uint8_t reserved[2];
  tracer_status status; /* Code of the problem. */
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
  tracer_string effect; /* What it enables, or which fields are absent without it. */
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

/* @since 0.1. What this machine and this process allow. For the last item, it tries to load and attach the programs.
 * Any thread. */
TRACER_API tracer_status tracer_check(tracer_list** out, tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_check_item(const tracer_list* list, size_t index, tracer_check_item* out);
/* Bits of tracer_statistics.present. */
#define TRACER_HAS_COST_KERNEL_NS (UINT64_C(1) << 0)
#define TRACER_HAS_COST_MEMORY_BYTES (UINT64_C(1) << 1)
#define TRACER_HAS_COST_KERNEL_MEMORY_BYTES (UINT64_C(1) << 2)
#define TRACER_HAS_MISSED_AT_MOST (UINT64_C(1) << 3)

/* Counted since the session started. */
typedef struct tracer_statistics {
  size_t size;
  uint64_t present;
  uint64_t records; /* From the kernel. */
  uint64_t record_bytes;
  uint64_t events;          /* Dispatched. */
  uint64_t callback_errors; /* Callbacks that did not return 0; other subscribers lost no event. */
  uint64_t secrets_masked;
  uint64_t announcements_met;
  uint64_t announcements_expired;
  uint64_t announcements_refused;
  uint64_t lost;        /* Sum of all causes: tracer_session_losses(). */
  uint64_t cost_cpu_ns; /* Reading, decoding, snapshots, callbacks; and the threads of sinks. */
  uint64_t cost_snapshots_cpu_ns;
  uint64_t cost_kernel_ns;    /* Time of the programs in the kernel. */
  uint64_t cost_memory_bytes; /* Resident now, for the whole process. */
  uint64_t cost_kernel_memory_bytes;
  uint64_t missed_at_most; /* Processes that lived too shortly to be seen in /proc; absent in other tiers. */
} tracer_statistics;

#define TRACER_STATISTICS_INIT \
  { sizeof(tracer_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* @since 0.1 */
TRACER_API tracer_status tracer_session_statistics(const struct tracer_session* session, tracer_statistics* out,
                                                   tracer_error* error);

typedef struct tracer_loss_count {
  size_t size;
  tracer_string cause; /* A name in docs/losses.md. */
  uint64_t count;
} tracer_loss_count;

#define TRACER_LOSS_COUNT_INIT \
  { sizeof(tracer_loss_count), {NULL, 0}, 0 }

/* @since 0.1. By cause, only those that occurred. */
TRACER_API tracer_status tracer_session_losses(const struct tracer_session* session, tracer_list** out,
                                               tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_loss(const tracer_list* list, size_t index, tracer_loss_count* out);

/* @since 0.1. Strings: what each rule of the filter does, and whether the kernel or user space decides it. */
TRACER_API tracer_status tracer_session_explain(const struct tracer_session* session, tracer_list** out,
                                                tracer_error* error);
/* @since 0.1. Problems: the mistakes in engine_rules. Rules with a mistake are left out, and the others work. */
TRACER_API tracer_status tracer_session_rule_problems(const struct tracer_session* session, tracer_list** out,
                                                      tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
