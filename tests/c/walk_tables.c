/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

static tracer_recording* opened(const char* path) {
  tracer_error error = TRACER_ERROR_INIT;
  tracer_recording* recording = NULL;
  REQUIRE_OK(tracer_recording_open(tracer_string_of(path), &recording, &error));
  return recording;
}

/* Rows of a stream, which is moved first, as consumers do. */
static int64_t rows_of(struct ArrowArrayStream* from, const struct ArrowSchema* expected) {
  struct ArrowArrayStream stream = *from;
  from->release = NULL;
  struct ArrowSchema schema;
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  CHECK(schema.n_children == expected->n_children && strcmp(schema.format, "+s") == 0);
  for (int64_t i = 0; i < schema.n_children; ++i)
    CHECK(strcmp(schema.children[i]->name, expected->children[i]->name) == 0);
  schema.release(&schema);
  int64_t rows = 0;
  for (;;) {
    struct ArrowArray array;
    REQUIRE(stream.get_next(&stream, &array) == 0);
    if (array.release == NULL) break;
    CHECK(array.length > 0 && array.length <= 2 && array.n_children == expected->n_children);
    rows += array.length;
    array.release(&array);
  }
  tracer_error error = TRACER_ERROR_INIT;
  tracer_damage damage = TRACER_DAMAGE_INIT;
  CHECK(tracer_stream_problem(&stream, &error) == TRACER_OK && error.problem_count == 0);
  CHECK(tracer_stream_damage(&stream, &damage) == TRACER_OK && damage.any == 0);
  stream.release(&stream);
  return rows;
}

/* The same rows by the stream of a recording, and by its events one by one. */
static void every_table(void) {
  tracer_error error = TRACER_ERROR_INIT;
  for (tracer_table table = TRACER_TABLE_PROCESSES; table <= TRACER_TABLE_DEVICES; ++table) {
    tracer_table same = 0;
    CHECK(tracer_table_name(table).length > 3);
    CHECK(tracer_table_find(tracer_table_name(table), &same) == TRACER_OK && same == table);
    struct ArrowSchema schema;
    REQUIRE_OK(tracer_table_schema(table, &schema, &error));
    CHECK(schema.n_children > 1);
    struct ArrowArrayStream stream;
    REQUIRE_OK(tracer_recording_table(opened(recorded_file()), table, 2, &stream, &error));
    const int64_t rows = rows_of(&stream, &schema);

    tracer_table_builder* builder = NULL;
    REQUIRE_OK(tracer_table_builder_new(table, &builder, &error));
    tracer_recording* recording = opened(recorded_file());
    tracer_event_buffer* buffer = tracer_event_buffer_new(5);
    while (tracer_recording_read(recording, buffer, 0, &error) > 0)
      for (size_t i = 0; i < tracer_event_buffer_count(buffer); ++i)
        REQUIRE_OK(tracer_table_builder_add(builder, tracer_event_buffer_get(buffer, i), &error));
    const size_t gathered = tracer_table_builder_rows(builder);
    struct ArrowArray array;
    REQUIRE_OK(tracer_table_builder_finish(builder, &array, &error));
    CHECK(array.length == (int64_t)gathered && array.n_children == schema.n_children);
    CHECK(tracer_table_builder_rows(builder) == 0);
    array.release(&array);
    if (table == TRACER_TABLE_HOSTS) {
      CHECK(rows == 1);
    } else {
      CHECK(rows == (int64_t)gathered);
    }
    if (table == TRACER_TABLE_PROCESSES || table == TRACER_TABLE_TASKS) CHECK(rows == 1);
    if (table == TRACER_TABLE_EVENTS) CHECK(rows > 3);
    schema.release(&schema);
    tracer_event_buffer_free(buffer);
    tracer_recording_free(recording);
    tracer_table_builder_free(builder);
  }
  CHECK(string_is(tracer_table_name(TRACER_TABLE_LOSSES), "losses") && string_is(tracer_table_name(99), ""));
  tracer_table none = 1;
  CHECK(tracer_table_find(tracer_string_of("no such"), &none) == TRACER_ABSENT && none == 0);
}

static void only_ended(void) {
  tracer_error error = TRACER_ERROR_INIT;
  struct ArrowSchema schema;
  struct ArrowArrayStream stream;
  REQUIRE_OK(tracer_table_schema(TRACER_TABLE_PROCESSES, &schema, &error));
  REQUIRE_OK(tracer_recording_table_with(opened(recorded_file()), TRACER_TABLE_PROCESSES, 2, 1, &stream, &error));
  CHECK(rows_of(&stream, &schema) == 1);
  schema.release(&schema);
}

/* The structured error of a stream outlives what stands between it and whoever asks: a number. */
static void failing(void) {
  tracer_error error = TRACER_ERROR_INIT;
  size_t size = 0;
  char* data = read_file(recorded_file(), &size);
  write_file(path_in_folder("cut.tracer"), data, size - 10);
  free(data);
  struct ArrowArrayStream stream;
  REQUIRE_OK(tracer_recording_table(opened(path_in_folder("cut.tracer")), TRACER_TABLE_EVENTS, 0, &stream, &error));
  struct ArrowArray array;
  while (stream.get_next(&stream, &array) == 0 && array.release != NULL) array.release(&array);
  tracer_damage damage = TRACER_DAMAGE_INIT;
  CHECK(tracer_stream_damage(&stream, &damage) == TRACER_OK && damage.any == 1 && damage.truncated == 1);
  stream.release(&stream);
}

static void misused(void) {
  tracer_error error = TRACER_ERROR_INIT;
  struct ArrowArrayStream foreign;
  struct ArrowSchema schema;
  tracer_damage damage = TRACER_DAMAGE_INIT;
  tracer_table_builder* builder = NULL;
  memset(&foreign, 0, sizeof foreign);
  CHECK(tracer_stream_problem(&foreign, &error) == TRACER_OK);
  CHECK(tracer_stream_problem(NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_stream_damage(&foreign, &damage) == TRACER_ABSENT);
  CHECK(tracer_table_schema(0, &schema, &error) == TRACER_ERROR_INVALID_ARGUMENT && schema.release == NULL);
  CHECK(tracer_table_schema(TRACER_TABLE_RUNS, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_recording_table(NULL, TRACER_TABLE_RUNS, 0, &foreign, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(foreign.release == NULL);
  /* It is taken over also where the call fails. */
  CHECK(tracer_recording_table(opened(recorded_file()), 99, 0, &foreign, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_recording_table(opened(recorded_file()), 1, 0, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_table_builder_new(99, &builder, &error) == TRACER_ERROR_INVALID_ARGUMENT && builder == NULL);
  CHECK(tracer_table_builder_add(NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_table_builder_finish(NULL, NULL, &error) == TRACER_ERROR_INVALID_ARGUMENT);
  CHECK(tracer_table_builder_rows(NULL) == 0);
  tracer_table_builder_free(NULL);
  tracer_error_release(&error);
}

void walk_tables(void) {
  every_table();
  only_ended();
  failing();
  misused();
}
