// SPDX-License-Identifier: Apache-2.0
#include <tracer/table.hpp>

#include <memory>

#include "event_handle.hpp"
#include "recording_handle.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

struct tracer_table_builder {
  TableBuilder builder;
};

namespace {

/// Throws Refusal.
Table table_of(tracer_table table) {
  if (table < TRACER_TABLE_PROCESSES || table > TRACER_TABLE_DEVICES)
    throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "table is none of TRACER_TABLE_..."};
  return static_cast<Table>(table - 1);
}
static_assert(static_cast<int>(Table::kProcesses) + 1 == TRACER_TABLE_PROCESSES &&
              static_cast<int>(Table::kPrograms) + 1 == TRACER_TABLE_PROGRAMS &&
              static_cast<int>(Table::kSamples) + 1 == TRACER_TABLE_SAMPLES &&
              static_cast<int>(Table::kTasks) + 1 == TRACER_TABLE_TASKS &&
              static_cast<int>(Table::kRuns) + 1 == TRACER_TABLE_RUNS &&
              static_cast<int>(Table::kEvents) + 1 == TRACER_TABLE_EVENTS &&
              static_cast<int>(Table::kLosses) + 1 == TRACER_TABLE_LOSSES &&
              static_cast<int>(Table::kHosts) + 1 == TRACER_TABLE_HOSTS &&
              static_cast<int>(Table::kFiles) + 1 == TRACER_TABLE_FILES &&
              static_cast<int>(Table::kConnections) + 1 == TRACER_TABLE_CONNECTIONS &&
              static_cast<int>(Table::kContainers) + 1 == TRACER_TABLE_CONTAINERS &&
              static_cast<int>(Table::kDevices) + 1 == TRACER_TABLE_DEVICES);

}  // namespace

tracer_string tracer_table_name(tracer_table table) {
  if (table < TRACER_TABLE_PROCESSES || table > TRACER_TABLE_DEVICES) return {"", 0};
  return string_of(to_string(static_cast<Table>(table - 1)));
}

tracer_status tracer_table_find(tracer_string name, tracer_table* out) {
  if (out != nullptr) *out = 0;
  return guard(nullptr, [&]() -> tracer_status {
    const auto found = table_from_name(text_or_empty(name, "name"));
    tracer_table& table = need(out, "out");
    if (!found) return TRACER_ABSENT;
    table = static_cast<tracer_table>(*found) + 1;
    return TRACER_OK;
  });
}

tracer_status tracer_table_schema(tracer_table table, struct ArrowSchema* out, tracer_error* error) {
  return guard(error, [&] {
    ArrowSchema& schema = need(out, "out");
    schema = {};
    export_table_schema(table_of(table), &schema);
  });
}

tracer_status tracer_recording_table(tracer_recording* recording, tracer_table table, size_t rows_per_batch,
                                     struct ArrowArrayStream* out, tracer_error* error) {
  return tracer_recording_table_with(recording, table, rows_per_batch, 0, out, error);
}

tracer_status tracer_recording_table_with(tracer_recording* recording, tracer_table table, size_t rows_per_batch,
                                          int32_t only_ended, struct ArrowArrayStream* out, tracer_error* error) {
  const std::unique_ptr<tracer_recording> taken(recording);
  return guard(error, [&] {
    ArrowArrayStream& stream = need(out, "out");
    stream = {};
    TableOptions options;
    options.only_ended = only_ended != 0;
    if (rows_per_batch != 0) options.rows_per_batch = rows_per_batch;
    export_table(std::move(need(taken.get(), "recording").reader), table_of(table), &stream, options);
  });
}

tracer_status tracer_stream_problem(const struct ArrowArrayStream* stream, tracer_error* error) {
  return guard(error, [&]() -> tracer_status {
    const auto problem = stream_problem(need(stream, "stream"));
    if (!problem) return TRACER_OK;
    store(error, *problem);
    return status_of(problem->code);
  });
}

tracer_status tracer_stream_damage(const struct ArrowArrayStream* stream, tracer_damage* out) {
  return guard(nullptr, [&]() -> tracer_status {
    check_size(need(out, "out"), "out");
    const auto damage = stream_damage(need(stream, "stream"));
    if (!damage) return TRACER_ABSENT;
    give(out, damage_in_c(*damage), "out");
    return TRACER_OK;
  });
}

tracer_status tracer_table_builder_new(tracer_table table, tracer_table_builder** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_table_builder{TableBuilder(table_of(table))}; });
}

void tracer_table_builder_free(tracer_table_builder* builder) { delete builder; }

tracer_status tracer_table_builder_add(tracer_table_builder* builder, const tracer_event* event, tracer_error* error) {
  return guard(error, [&] { need(builder, "builder").builder.add(event_of(need(event, "event"))); });
}

size_t tracer_table_builder_rows(const tracer_table_builder* builder) {
  return builder == nullptr ? 0 : builder->builder.rows();
}

tracer_status tracer_table_builder_finish(tracer_table_builder* builder, struct ArrowArray* out, tracer_error* error) {
  return guard(error, [&] {
    TableBuilder& own = need(builder, "builder").builder;
    ArrowArray& array = need(out, "out");
    array = {};
    own.finish(&array);
  });
}
