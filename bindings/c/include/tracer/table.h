/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings and events as Arrow tables, by the plain structs of the Arrow C data interface: no Arrow library. */
#ifndef TRACER_TABLE_H
#define TRACER_TABLE_H

#include <tracer/arrow.h>
#include <tracer/recording.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t tracer_table;
enum {
  TRACER_TABLE_PROCESSES = 1,
  TRACER_TABLE_PROGRAMS = 2,
  TRACER_TABLE_SAMPLES = 3,
  TRACER_TABLE_TASKS = 4,
  TRACER_TABLE_RUNS = 5,
  TRACER_TABLE_EVENTS = 6,
  TRACER_TABLE_LOSSES = 7,
  TRACER_TABLE_HOSTS = 8,
  TRACER_TABLE_FILES = 9,
  TRACER_TABLE_CONNECTIONS = 10,
  TRACER_TABLE_CONTAINERS = 11,
  TRACER_TABLE_DEVICES = 12
};

/* @since 0.1. "processes" …; "" for an unknown table. Constant. */
TRACER_API tracer_string tracer_table_name(tracer_table table);
/* @since 0.1. TRACER_ABSENT: no table has this name. */
TRACER_API tracer_status tracer_table_find(tracer_string name, tracer_table* out);
/* @since 0.1. The caller releases *out. */
TRACER_API tracer_status tracer_table_schema(tracer_table table, struct ArrowSchema* out, tracer_error* error);
/* @since 0.1. Streams the rest of a recording as one table, batch by batch of at most `rows_per_batch` (0: 65536), in
 * bounded memory. Takes over the recording, even if the call fails: the caller does not free it. The caller releases
 * *out, and may move it. get_next reads, on the thread that calls it, one at a time. A read that fails ends the stream
 * with its errno: tracer_stream_problem() has the details. */
TRACER_API tracer_status tracer_recording_table(tracer_recording* recording, tracer_table table, size_t rows_per_batch,
                                                struct ArrowArrayStream* out, tracer_error* error);
/* @since 0.1. Likewise. `only_ended`: without processes that had not ended when the recording ended. */
TRACER_API tracer_status tracer_recording_table_with(tracer_recording* recording, tracer_table table,
                                                     size_t rows_per_batch, int32_t only_ended,
                                                     struct ArrowArrayStream* out, tracer_error* error);
/* @since 0.1. Why the last call of a stream of tracer_recording_table() failed. TRACER_OK: it did not, or it is another
 * library's stream. */
TRACER_API tracer_status tracer_stream_problem(const struct ArrowArrayStream* stream, tracer_error* error);
/* @since 0.1. The damage that was skipped so far; final at the stream's end. TRACER_ABSENT: it is another library's
 * stream. */
TRACER_API tracer_status tracer_stream_damage(const struct ArrowArrayStream* stream, tracer_damage* out);

/* Gathers events into batches of a table, such as those of a queue. Used by one thread at a time. */
typedef struct tracer_table_builder tracer_table_builder;
/* @since 0.1 */
TRACER_API tracer_status tracer_table_builder_new(tracer_table table, tracer_table_builder** out, tracer_error* error);
/* @since 0.1 */
TRACER_API void tracer_table_builder_free(tracer_table_builder* builder);
/* @since 0.1. Skips events that have no row in this table. */
TRACER_API tracer_status tracer_table_builder_add(tracer_table_builder* builder, const tracer_event* event,
                                                  tracer_error* error);
/* @since 0.1. Rows so far; 0 for NULL. */
TRACER_API size_t tracer_table_builder_rows(const tracer_table_builder* builder);
/* @since 0.1. A batch of all rows so far, which the caller releases; the builder is then empty. */
TRACER_API tracer_status tracer_table_builder_finish(tracer_table_builder* builder, struct ArrowArray* out,
                                                     tracer_error* error);

#ifdef __cplusplus
}
#endif

#endif
