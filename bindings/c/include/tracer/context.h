/* SPDX-License-Identifier: Apache-2.0 */
/* Facts from a caller about processes: labels, announcements, filter rules. Strings are bytes, without NUL; arguments
 * are copied during the call. */
#ifndef TRACER_CONTEXT_H
#define TRACER_CONTEXT_H

#include <tracer/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frozen: it has no size, and neither has its array. Further facts about a label will be in an array beside it. */
typedef struct tracer_name_value {
  tracer_string name;
  tracer_string value;
} tracer_name_value;

/* Where processes belong; absent members are unknown. */
typedef struct tracer_context {
  size_t size;
  tracer_string pipeline; /* The pipeline that is executed: "nf-core/rnaseq". */
  tracer_string run;      /* One execution of it: "r42". */
  tracer_string step;
  tracer_string sample;
  tracer_string task;    /* One execution of a step, by the engine's own name: "ALIGN (S1)". */
  tracer_string task_id; /* Unique within its run. */
  tracer_string run_id;  /* The engine's own id of the run, unique everywhere. */
  tracer_string engine;
  const tracer_name_value* labels; /* Each name once. */
  size_t label_count;
  uint32_t attempt;  /* From 1; 0: unknown. */
  uint32_t reserved; /* 0. */
} tracer_context;

#define TRACER_CONTEXT_INIT                                                                                         \
  {                                                                                                                 \
    sizeof(tracer_context), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
        NULL, 0, 0, 0                                                                                               \
  }

typedef uint32_t tracer_filter_subject;
enum {
  TRACER_FILTER_TREE = 1,    /* The process `number` and its descendants, living and future ones. */
  TRACER_FILTER_CGROUP = 2,  /* `text`: as in /proc/PID/cgroup, or a folder below the cgroup mount; its subtree too. */
  TRACER_FILTER_UID = 3,     /* `number`: real user id. */
  TRACER_FILTER_EXE = 4,     /* `text`: glob on the whole path, or on the last part if it has no '/'. */
  TRACER_FILTER_TOOL = 5,    /* `text`: glob on the tool's name: "samtools *". */
  TRACER_FILTER_ARGUMENT = 6 /* `text`: glob on any one argument, after secrets are masked. */
};

/* Without an include rule, all processes are included. An include rule takes in a matching process with all its
 * descendants from then on; an exclude rule prunes a process and its descendants, whatever includes them. Members that
 * the subject does not use must be 0 or absent. An array may have a newer version's structs: all have the same `size`.
 */
typedef struct tracer_filter_rule {
  size_t size;
  tracer_filter_subject subject;
  uint32_t exclude; /* 0: include; 1. */
  uint64_t number;
  tracer_string text;
  const tracer_context* context; /* Labels for included processes: trees and cgroups only. NULL: none. */
} tracer_filter_rule;

#define TRACER_FILTER_RULE_INIT \
  { sizeof(tracer_filter_rule), 0, 0, 0, {NULL, 0}, NULL }

typedef uint32_t tracer_announcement_key;
enum {
  TRACER_KEY_IN_WORK_DIR = 1,  /* `text`: absolute path, as the processes see it; not "/". */
  TRACER_KEY_OF_PROCESS = 2,   /* `pid` and `start_ns`: it and its descendants. */
  TRACER_KEY_IN_CGROUP = 3,    /* `text`: from the hierarchy's root: "/slurm/job_12"; not "/". */
  TRACER_KEY_IN_CONTAINER = 4, /* `text`: the id, or its first 12 or more characters. */
  TRACER_KEY_IN_SLURM_JOB = 5, /* `text`: "12". */
  TRACER_KEY_BELOW_PROCESS = 6 /* Descendants of `pid` whose arguments match `argv`, and their descendants. */
};

/* Facts about future or living processes. */
typedef struct tracer_announcement {
  size_t size;
  tracer_announcement_key key;
  int32_t pid;
  uint64_t start_ns; /* Of `pid`; the library does not check that it still lives. 0: the process that has it now. */
  tracer_string text;
  const tracer_string* argv; /* A pattern for each word: * any run of characters, ? one; "..." any number of words. */
  size_t argc;
  const tracer_context* context; /* The context to announce. NULL: none. */
  uint64_t requested_millicpus;  /* The request, to compare with the use. 0: unknown. */
  uint64_t requested_memory_bytes;
  uint64_t requested_time_ns;
  tracer_string requested_container;
  tracer_string requested_tag;
  int64_t expires_after_ms; /* Counts from now. 0: 24 hours. */
} tracer_announcement;

#define TRACER_ANNOUNCEMENT_INIT \
  { sizeof(tracer_announcement), 0, 0, 0, {NULL, 0}, NULL, 0, NULL, 0, 0, 0, {NULL, 0}, {NULL, 0}, 0 }

/* How many tasks a step of a run will have. */
typedef struct tracer_expected_tasks {
  tracer_string step;
  uint64_t tasks;
} tracer_expected_tasks;

/* A task that waits for its turn, or a run. */
typedef struct tracer_submission {
  size_t size;
  const tracer_context* context; /* engine, run_id and, of a task, task_id name it. */
  uint64_t requested_millicpus;  /* 0: unknown. */
  uint64_t requested_memory_bytes;
  uint64_t requested_time_ns;
  tracer_string requested_container;
  tracer_string requested_tag;
  const tracer_expected_tasks* expected; /* Of a run. */
  size_t expected_count;
  int64_t expires_after_ms; /* Counts from now. 0: 30 days. */
} tracer_submission;

#define TRACER_SUBMISSION_INIT \
  { sizeof(tracer_submission), NULL, 0, 0, 0, {NULL, 0}, {NULL, 0}, NULL, 0, 0 }

#ifdef __cplusplus
}
#endif

#endif
