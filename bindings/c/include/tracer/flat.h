/* SPDX-License-Identifier: Apache-2.0 */
/* The most common fields of an event, with one call: the same struct for all kinds. */
#ifndef TRACER_FLAT_H
#define TRACER_FLAT_H

#include <tracer/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of tracer_event_flat.present: the number of that name is known. */
#define TRACER_HAS_PID (UINT64_C(1) << 0)
#define TRACER_HAS_START_NS (UINT64_C(1) << 1)
#define TRACER_HAS_PARENT_PID (UINT64_C(1) << 2)
#define TRACER_HAS_PARENT_START_NS (UINT64_C(1) << 3)
#define TRACER_HAS_UID (UINT64_C(1) << 4)
#define TRACER_HAS_END_NS (UINT64_C(1) << 5)
#define TRACER_HAS_ATTACHED_NS (UINT64_C(1) << 6)
#define TRACER_HAS_EXIT_CODE (UINT64_C(1) << 7)
#define TRACER_HAS_EXIT_SIGNAL (UINT64_C(1) << 8)
#define TRACER_HAS_FAILED (UINT64_C(1) << 9)
#define TRACER_HAS_ATTEMPT (UINT64_C(1) << 10)
#define TRACER_HAS_THREADS (UINT64_C(1) << 11)
#define TRACER_HAS_PROCESSES (UINT64_C(1) << 12)
#define TRACER_HAS_COUNT (UINT64_C(1) << 13)
#define TRACER_HAS_CPU_NS (UINT64_C(1) << 14)
#define TRACER_HAS_USER_NS (UINT64_C(1) << 15)
#define TRACER_HAS_SYSTEM_NS (UINT64_C(1) << 16)
#define TRACER_HAS_RUN_QUEUE_NS (UINT64_C(1) << 17)
#define TRACER_HAS_MINOR_FAULTS (UINT64_C(1) << 18)
#define TRACER_HAS_MAJOR_FAULTS (UINT64_C(1) << 19)
#define TRACER_HAS_VOLUNTARY_SWITCHES (UINT64_C(1) << 20)
#define TRACER_HAS_INVOLUNTARY_SWITCHES (UINT64_C(1) << 21)
#define TRACER_HAS_PEAK_RSS_BYTES (UINT64_C(1) << 22)
#define TRACER_HAS_READ_BYTES (UINT64_C(1) << 23)
#define TRACER_HAS_WRITTEN_BYTES (UINT64_C(1) << 24)
#define TRACER_HAS_STORAGE_READ_BYTES (UINT64_C(1) << 25)
#define TRACER_HAS_STORAGE_WRITTEN_BYTES (UINT64_C(1) << 26)
#define TRACER_HAS_RSS_ANONYMOUS_BYTES (UINT64_C(1) << 27)
#define TRACER_HAS_RSS_FILE_BYTES (UINT64_C(1) << 28)
#define TRACER_HAS_RSS_SHARED_BYTES (UINT64_C(1) << 29)
#define TRACER_HAS_PEAK_BYTES (UINT64_C(1) << 30)
#define TRACER_HAS_MEMORY_BYTES (UINT64_C(1) << 31)

/* A number whose bit is not in `present` is 0 and means nothing. Strings are valid as long as the event. If a process
 * runs several programs, all members are of the process; `ended` programs of execs have their own fields. */
typedef struct tracer_event_flat {
  size_t size; /* sizeof(tracer_event_flat), set by the caller. */
  uint64_t present;
  uint64_t time_ns;
  uint64_t start_ns; /* Of the process, or of the leader of a run or task. */
  uint64_t parent_start_ns;
  uint64_t end_ns;
  uint64_t attached_ns;
  uint64_t threads;
  uint64_t processes; /* Of a tool, a run, a task, a cgroup or a snapshot. */
  uint64_t count;     /* Of a loss. */
  uint64_t cpu_ns;
  uint64_t user_ns;
  uint64_t system_ns;
  uint64_t run_queue_ns;
  uint64_t minor_faults;
  uint64_t major_faults;
  uint64_t voluntary_switches;
  uint64_t involuntary_switches;
  uint64_t peak_rss_bytes; /* Of the last program. */
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t storage_read_bytes;
  uint64_t storage_written_bytes;
  uint64_t rss_anonymous_bytes;
  uint64_t rss_file_bytes;
  uint64_t rss_shared_bytes;
  uint64_t peak_bytes;   /* Of a run or task: its processes together. */
  uint64_t memory_bytes; /* Of a cgroup. */
  uint32_t pid;          /* Of the process, or of the leader of a run or task. */
  uint32_t parent_pid;
  uint32_t uid;
  uint32_t attempt;
  int32_t exit_code;
  int32_t exit_signal;
  uint32_t failed; /* 1: it ended by a signal, or with a status other than 0 that is not an answer. */
  tracer_event_kind kind;
  uint16_t reserved;
  tracer_string comm;
  tracer_string exe;
  tracer_string cwd;
  tracer_string tool;
  tracer_string cgroup;
  tracer_string container_id;
  tracer_string pipeline;
  tracer_string run;
  tracer_string step;
  tracer_string sample;
  tracer_string task;
  tracer_string task_id;
  tracer_string engine;
  tracer_string run_id;
  uint64_t run_key;    /* 0: in no run. */
  uint64_t task_key;   /* 0: in no task. */
  tracer_string cause; /* Of a loss. */
} tracer_event_flat;

/* In C++ `tracer_event_flat flat{};` and its size. */
#ifndef __cplusplus
#define TRACER_EVENT_FLAT_INIT \
  { .size = sizeof(tracer_event_flat) }
#endif

/* @since 0.1. `out->size` must be set; the rest is filled. TRACER_WRONG_SIZE. */
TRACER_API tracer_status tracer_event_get_flat(const tracer_event* event, tracer_event_flat* out);

#ifdef __cplusplus
}
#endif

#endif
