/* SPDX-License-Identifier: Apache-2.0 */
/* Events and their fields. docs/fields.md states the meaning and source of each field, and when it is absent.
 *
 * Times are nanoseconds of the boot clock (CLOCK_BOOTTIME), sizes are bytes, and an unknown value is absent, never 0.
 * An event never changes: threads may share it. It remains valid in a forked child. */
#ifndef TRACER_EVENT_H
#define TRACER_EVENT_H

#include <tracer/base.h>
#include <tracer/fields.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TRACER_EVENT_... of fields.h, in ranges: 1 to 99 the session itself, from 100 processes, runs and tasks; 200 is
 * reserved for files, 300 for the network, 400 is memory. More kinds will come: skip those that you don't know. */
typedef uint16_t tracer_event_kind;

/* @since 0.1. "process_exit" …; "" for an unknown kind. Constant. */
TRACER_API tracer_string tracer_event_kind_name(tracer_event_kind kind);

/* How a field of a context is known, the weakest first. */
typedef uint8_t tracer_provenance;
enum {
  TRACER_PROVENANCE_INFERRED = 1,
  TRACER_PROVENANCE_CGROUP = 2,
  TRACER_PROVENANCE_ENGINE_RULE = 3,
  TRACER_PROVENANCE_LABEL = 4,
  TRACER_PROVENANCE_ANNOUNCED = 5
};

/* @since 0.1. "inferred", "cgroup", "engine rule" …; "" for an unknown one. Constant. */
TRACER_API tracer_string tracer_provenance_name(tracer_provenance provenance);

/* Callbacks and buffers lend events: tracer_event_copy() keeps one. */
typedef struct tracer_event tracer_event;

/* @since 0.1. Shares the event: cheap. NULL: no memory, or NULL was passed. */
TRACER_API tracer_event* tracer_event_copy(const tracer_event* event);
/* @since 0.1. Frees a copy, or an event that a function made for the caller. */
TRACER_API void tracer_event_free(tracer_event* event);
/* @since 0.1. TRACER_EVENT_NONE for NULL. */
TRACER_API tracer_event_kind tracer_event_get_kind(const tracer_event* event);
/* @since 0.1. 0 for NULL. */
TRACER_API uint64_t tracer_event_get_time_ns(const tracer_event* event);

/* The number of a field of one kind of event: TRACER_FIELD_PROCESS_EXIT_CPU_NS … of <tracer/fields.h>. */
typedef uint64_t tracer_field;

/* The type decides which getter reads a field. */
typedef uint8_t tracer_field_type;
enum {
  TRACER_TYPE_BOOL = 1,
  TRACER_TYPE_I64 = 2,
  TRACER_TYPE_U64 = 3, /* Also 32 bits, keys, and enumerations: tracer_field_value_name(). */
  TRACER_TYPE_STRING = 4,
  TRACER_TYPE_STRING_LIST = 5 /* A list, such as the arguments: tracer_event_get_string_at(). */
};

typedef uint8_t tracer_unit;
enum {
  TRACER_UNIT_NONE = 0,
  TRACER_UNIT_NS = 1,
  TRACER_UNIT_BYTES = 2,
  TRACER_UNIT_COUNT = 3,
  TRACER_UNIT_BYTES_PER_S = 4
};

typedef struct tracer_field_info {
  size_t size;
  tracer_field field;
  tracer_string name; /* As in JSON, without the kind: "program.cpu_ns". Constant. */
  tracer_event_kind kind;
  tracer_field_type type;
  tracer_unit unit;
  uint8_t nullable; /* It can be absent. */
  uint8_t list;     /* Any number of values in one event: the getters that end in _at, and tracer_event_get_count(). */
  uint8_t reserved[2];
} tracer_field_info;

#define TRACER_FIELD_INFO_INIT                                       \
  {                                                                  \
    sizeof(tracer_field_info), 0, {NULL, 0}, 0, 0, 0, 0, 0, { 0, 0 } \
  }

/* @since 0.1. The number of fields of a kind; 0 for an unknown one. */
TRACER_API size_t tracer_field_count(tracer_event_kind kind);
/* @since 0.1. TRACER_OUT_OF_RANGE. */
TRACER_API tracer_status tracer_field_at(tracer_event_kind kind, size_t index, tracer_field_info* out);
/* @since 0.1. Finds a field by its name: "cpu_ns". TRACER_NO_SUCH_FIELD. */
TRACER_API tracer_status tracer_field_find(tracer_event_kind kind, tracer_string name, tracer_field_info* out);

/* @since 0.1. The name of a value of an enumeration field, as in JSON. Empty: the field is not an enumeration, or has
 * no such value. Constant. */
TRACER_API tracer_string tracer_field_value_name(tracer_field field, uint64_t value);

/* Each getter returns TRACER_OK; TRACER_ABSENT; TRACER_WRONG_KIND: the field belongs to another kind of event;
 * TRACER_WRONG_TYPE: another getter reads it, or only one of the two is for a list; TRACER_NO_SUCH_FIELD;
 * TRACER_OUT_OF_RANGE; TRACER_ERROR_INVALID_ARGUMENT: NULL. Unless it returns TRACER_OK, *out is 0 or absent. Strings
 * are valid as long as the event. */
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_u64(const tracer_event* event, tracer_field field, uint64_t* out);
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_i64(const tracer_event* event, tracer_field field, int64_t* out);
/* @since 0.1. 0 or 1. */
TRACER_API tracer_status tracer_event_get_bool(const tracer_event* event, tracer_field field, uint8_t* out);
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_string(const tracer_event* event, tracer_field field, tracer_string* out);
/* @since 0.1. The number of elements of a list. */
TRACER_API tracer_status tracer_event_get_count(const tracer_event* event, tracer_field field, size_t* out);
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_u64_at(const tracer_event* event, tracer_field field, size_t index,
                                                 uint64_t* out);
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_i64_at(const tracer_event* event, tracer_field field, size_t index,
                                                 int64_t* out);
/* @since 0.1 */
TRACER_API tracer_status tracer_event_get_string_at(const tracer_event* event, tracer_field field, size_t index,
                                                    tracer_string* out);

/* @since 0.1. One JSON object, `kind` first, without a line end; UTF-8: other bytes become U+FFFD. */
TRACER_API tracer_status tracer_event_to_json(const tracer_event* event, tracer_text** out, tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
