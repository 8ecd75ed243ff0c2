/* SPDX-License-Identifier: Apache-2.0 */
/* The sums by context that the kernel adds up: no lost event changes them. */
#ifndef TRACER_TOTALS_H
#define TRACER_TOTALS_H

#include <tracer/context.h>
#include <tracer/flat.h>
#include <tracer/list.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of tracer_totals.present; the others are those of tracer_event_flat. */
#define TRACER_HAS_READ_AT_MOST_BYTES (UINT64_C(1) << 32)
#define TRACER_HAS_READ_CALLS (UINT64_C(1) << 33)
#define TRACER_HAS_WRITE_CALLS (UINT64_C(1) << 34)
#define TRACER_HAS_STORAGE_CANCELLED_BYTES (UINT64_C(1) << 35)

/* Sums of all processes of one context that have ended, added up in the kernel. A number whose bit is not in `present`
 * is 0 and means nothing; `living`, `ended` and `failed` are always known. The context is what the caller stated in
 * rules, tracks and labels: two may differ in a label only. There is no peak, because a sum of peaks means nothing, and
 * no ledger: those are in the events. */
typedef struct tracer_totals {
  size_t size;
  uint64_t present;
  uint64_t living; /* Begun or taken in, and not ended yet. */
  uint64_t ended;
  uint64_t failed;
  /* How many contexts are in these sums. More than 1: contexts that no process has anymore; they have no name. */
  uint64_t contexts;
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
  uint64_t storage_cancelled_bytes;
  uint64_t read_at_most_bytes; /* A bound, if exec's own reads can't be separated. */
  uint64_t read_calls;
  uint64_t write_calls;
  tracer_string pipeline;
  tracer_string run;
  tracer_string step;
  tracer_string sample;
  tracer_string task;
  tracer_string task_id;
  tracer_string engine;
  const tracer_name_value* labels; /* By name; valid as long as the list. */
  size_t label_count;
  uint32_t attempt;
  uint32_t reserved;
} tracer_totals;

#define TRACER_TOTALS_INIT                                                                                      \
  {                                                                                                             \
    sizeof(tracer_totals), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, \
        {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL, 0, 0, 0                                    \
  }

/* @since 0.1. By context. Empty for recordings. */
TRACER_API tracer_status tracer_session_totals(const struct tracer_session* session, tracer_list** out,
                                               tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_totals(const tracer_list* list, size_t index, tracer_totals* out);

#ifdef __cplusplus
}
#endif

#endif
