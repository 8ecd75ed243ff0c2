// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/table.hpp>

#include "arrow_columns.hpp"
#include "binders.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "queue.hpp"
#include "recording.hpp"
#include "streams.hpp"

namespace py = pybind11;

namespace tracer::python {

Table table_named(std::string_view name) {
  if (const auto table = table_from_name(name)) return *table;
  throw Error({ErrorCode::kInvalidArgument,
               0,
               "there is no table '" + std::string(name) + "'",
               "tables are processes, programs, samples, tasks, runs, events, losses and hosts",
               {}});
}

namespace {

template <class T>
std::shared_ptr<T> shared(T value) {
  struct Release {
    void operator()(T* held) const {
      if (held->release != nullptr) held->release(held);
      delete held;
    }
  };
  return std::shared_ptr<T>(new T(value), Release());
}

void raise_problem(const StreamStatus& status) {
  if (const auto problem = status.problem()) throw Error(*problem);
}

/// The columns of one batch.
struct ArrowBatch {
  std::shared_ptr<ArrowSchema> schema;
  std::shared_ptr<ArrowArray> array;

  py::list columns() const {
    py::list all;
    for (std::int64_t i = 0; i < array->n_children; ++i)
      all.append(py::cast(ArrowColumn(array, schema, *array->children[i], *schema->children[i])));
    return all;
  }
};

/// Reads the stream of a capsule, which it takes over.
class BatchReader {
 public:
  BatchReader(const py::capsule& capsule, std::shared_ptr<StreamStatus> status) : status_(std::move(status)) {
    auto* const stream = capsule.get_pointer<ArrowArrayStream>();
    if (stream->release == nullptr) throw py::value_error("the stream was given to another reader");
    stream_ = shared(*stream);
    stream->release = nullptr;
    ArrowSchema schema{};
    if (stream_->get_schema(stream_.get(), &schema) != 0) throw std::bad_alloc();
    schema_ = shared(schema);
  }
  ArrowBatch next() {
    ArrowArray array{};
    int result = 0;
    {
      const ReleasedGil released;
      const std::lock_guard lock(mutex_);
      result = stream_->get_next(stream_.get(), &array);
    }
    if (result != 0) {
      raise_problem(*status_);
      throw std::bad_alloc();
    }
    if (array.release == nullptr) throw py::stop_iteration();
    return {schema_, shared(array)};
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<StreamStatus> status_;
  std::shared_ptr<ArrowArrayStream> stream_;
  std::shared_ptr<ArrowSchema> schema_;
};

/// A batch that can be read any number of times.
class HeldBatch {
 public:
  HeldBatch(ArrowArray array, Table table) : array_(shared(array)), table_(table) {}

  std::int64_t rows() const { return array_->length; }
  std::string_view table() const { return to_string(table_); }
  py::capsule array() const { return capsule_of(again(array_)); }
  py::tuple stream() const {
    return py::make_tuple(capsule_of(stream_of_batch(array_, table_)), std::make_shared<StreamStatus>());
  }

 private:
  std::shared_ptr<ArrowArray> array_;
  Table table_;
};

/// Batches of what comes out of a queue.
class LiveTable {
 public:
  explicit LiveTable(std::string_view name) : table_(table_named(name)), builder_(table_) {}

  /// None: the queue is empty. A batch without rows: what came is not in this table.
  py::object read(const HeldQueue& queue, std::size_t most) {
    ArrowArray array{};
    {
      const ReleasedGil released;
      const std::lock_guard lock(mutex_);
      std::vector<Event> events(most);
      events.resize(queue.get().read(events));
      if (!events.empty()) {
        for (const Event& event : events) builder_.add(event);
        builder_.finish(&array);
      }
    }
    if (array.release == nullptr) return py::none();
    return py::cast(std::make_unique<HeldBatch>(array, table_));
  }

 private:
  std::mutex mutex_;
  Table table_;
  TableBuilder builder_;
};

py::capsule schema_capsule(std::string_view table) {
  ArrowSchema schema{};
  export_table_schema(table_named(table), &schema);
  return capsule_of(schema);
}

py::tuple stream_capsule(HeldReader& reader, std::string_view name, std::size_t rows_per_batch, bool only_ended) {
  const Table table = table_named(name);
  auto status = std::make_shared<StreamStatus>();
  ArrowArrayStream stream{};
  {
    const ReleasedGil released;
    export_table(reader.take(), table, &stream, {.rows_per_batch = rows_per_batch, .only_ended = only_ended});
    stream = watched(stream, status);
  }
  return py::make_tuple(capsule_of(stream), status);
}

/// Names and formats; of lists the item's behind.
std::string type_of(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (schema.dictionary != nullptr) return "dictionary";
  if (format == "+l") return "list of " + type_of(*schema.children[0]);
  if (format == "+s") {
    std::string fields;
    for (std::int64_t i = 0; i < schema.n_children; ++i)
      fields += (fields.empty() ? "" : ", ") + std::string(schema.children[i]->name);
    return "struct of " + fields;
  }
  switch (format.front()) {
    case 'L': return "uint64";
    case 'I': return "uint32";
    case 'i': return "int32";
    case 'b': return "bool";
    default: return "text";
  }
}

std::vector<std::tuple<std::string, std::string, bool>> described_columns(std::string_view table) {
  ArrowSchema schema{};
  export_table_schema(table_named(table), &schema);
  const auto held = shared(schema);
  std::vector<std::tuple<std::string, std::string, bool>> all;
  for (std::int64_t i = 0; i < held->n_children; ++i) {
    const ArrowSchema& column = *held->children[i];
    all.emplace_back(column.name, type_of(column), (column.flags & ARROW_FLAG_NULLABLE) != 0);
  }
  return all;
}

}  // namespace

void bind_tables(py::module_& module) {
  bind_columns(module);
  py::class_<StreamStatus, std::shared_ptr<StreamStatus>>(module, "StreamStatus").def("raise_problem", &raise_problem);
  py::class_<ArrowBatch>(module, "ArrowBatch")
      .def_property_readonly("rows", [](const ArrowBatch& batch) { return batch.array->length; })
      .def("columns", &ArrowBatch::columns);
  py::class_<BatchReader>(module, "BatchReader")
      .def(py::init<const py::capsule&, std::shared_ptr<StreamStatus>>())
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &BatchReader::next);
  py::class_<HeldBatch>(module, "HeldBatch")
      .def_property_readonly("rows", &HeldBatch::rows)
      .def_property_readonly("table", &HeldBatch::table)
      .def("array", &HeldBatch::array)
      .def("stream", &HeldBatch::stream);
  py::class_<LiveTable>(module, "LiveTable")
      .def(py::init<std::string_view>(), py::arg("table"))
      .def("read", &LiveTable::read, py::arg("queue"), py::arg("most"));
  module.def("table_schema", &schema_capsule, py::arg("table"));
  module.def("table_columns", &described_columns, py::arg("table"));
  module.def("table_stream", &stream_capsule, py::arg("reader"), py::arg("table"),
             py::arg("rows_per_batch") = TableOptions().rows_per_batch, py::arg("only_ended") = false);
}

}  // namespace tracer::python
