/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a context, and what the rules for engines find. */
#ifndef TRACER_EXPLAIN_H
#define TRACER_EXPLAIN_H

#include <tracer/list.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tracer_event_buffer;

/* @since 0.1. Checks a file of rules for engines and tries its examples. TRACER_ERROR_INVALID_RULES, with all mistakes;
 * TRACER_ERROR_FILE_UNREADABLE. */
TRACER_API tracer_status tracer_engine_rules_check(tracer_string path, tracer_error* error);

/* How one field of a context is known. */
typedef struct tracer_reason {
  size_t size;
  tracer_string field; /* "step", "attempt"; for a label "label.NAME". */
  tracer_string value;
  tracer_string rule;           /* A rule for engines; empty: not a rule. */
  tracer_string condition;      /* The condition of that rule. */
  tracer_provenance provenance; /* 0: no source gave it. */
  uint8_t overruled;            /* A stronger source gave another value. */
  uint8_t reserved[6];
} tracer_reason;

#define TRACER_REASON_INIT                                                                        \
  {                                                                                               \
    sizeof(tracer_reason), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, { 0, 0, 0, 0, 0, 0 } \
  }

/* @since 0.1. Explains the context of an event. `engine_rules`: a file, or absent. TRACER_ABSENT: it has no context. */
TRACER_API tracer_status tracer_event_explain(const tracer_event* event, tracer_string engine_rules, tracer_list** out,
                                              tracer_error* error);
/* @since 0.1. The same for all events of a buffer; the rules are read once. `lists` has room for `count`, which is
 * tracer_event_buffer_count(): one list for each event, which the caller frees, or NULL if it has no context. */
TRACER_API tracer_status tracer_event_buffer_explain(const struct tracer_event_buffer* buffer,
                                                     tracer_string engine_rules, tracer_list** lists, size_t count,
                                                     tracer_error* error);
/* @since 0.1 */
TRACER_API tracer_status tracer_list_reason(const tracer_list* list, size_t index, tracer_reason* out);

/* The members mean the same as in tracer_session_options. 0 or absent: the default. */
typedef struct tracer_resolve_options {
  size_t size;
  tracer_string tool_rules;
  tracer_string secret_rules;
  tracer_string engine_rules;
  uint32_t keep_secrets;
  uint32_t skip_engine_notes;
} tracer_resolve_options;

#define TRACER_RESOLVE_OPTIONS_INIT \
  { sizeof(tracer_resolve_options), {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0 }

/* @since 0.1. Resolves a living process with the rules, from it and its ancestors only, without a session. *out is an
 * event of the kind TRACER_EVENT_PROCESS_START, which the caller frees. NULL options: defaults.
 * TRACER_ERROR_FILTER_NAMES_NOTHING, _INVALID_ARGUMENT, _INVALID_RULES, _FILE_UNREADABLE. */
TRACER_API tracer_status tracer_process_resolve(int32_t pid, const tracer_resolve_options* options, tracer_event** out,
                                                tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
