// SPDX-License-Identifier: Apache-2.0
#include "table/gathered_tables.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "binders.hpp"
#include "events.hpp"
#include "gil.hpp"
#include "queue.hpp"
#include "recording.hpp"
#include "streams.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

/// pid, start_ns, time_ns, what it had used, and what of it in no task.
using LookOfPython = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, decltype(internal::Look::used),
                                decltype(internal::Look::outside)>;

/// A batch of rows, for one reader.
class GatheredBatch {
 public:
  GatheredBatch(internal::OwnedSchema schema, internal::OwnedArray array)
      : schema_(std::move(schema)), array_(std::move(array)) {}
  py::tuple give() { return py::make_tuple(capsule_of(schema_.give()), capsule_of(array_.give())); }

 private:
  internal::OwnedSchema schema_;
  internal::OwnedArray array_;
};

class HeldTables {
 public:
  HeldTables(std::vector<std::string> names, std::vector<internal::TableLayout> layouts)
      : names_(std::move(names)), tables_(std::move(layouts)) {}

  std::pair<std::map<std::string, std::size_t>, std::vector<LookOfPython>> read(
      HeldReader& reader, const std::vector<std::string>& names, const std::vector<LookOfPython>& before) {
    std::vector<std::size_t> tables;
    for (const std::string& name : names) tables.push_back(place_of(name));
    std::vector<internal::Look> looks;
    for (const auto& [pid, start_ns, time_ns, used, outside] : before)
      looks.push_back({{start_ns, pid}, time_ns, used, outside});
    const std::lock_guard lock(mutex_);
    const auto done = reader.with([&](RecordingReader& of) { return tables_.read(of, tables, std::move(looks)); });
    std::pair<std::map<std::string, std::size_t>, std::vector<LookOfPython>> said;
    for (std::size_t i = 0; i < tables.size(); ++i) said.first[names[i]] = done.rows[tables[i]];
    for (const internal::Look& look : done.looks)
      said.second.emplace_back(look.id.pid, look.id.start_ns, look.time_ns, look.used, look.outside);
    return said;
  }
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return tables_.bytes();
  }
  std::vector<std::unique_ptr<GatheredBatch>> take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<GatheredBatch>> batches;
    for (auto& [schema, array] : tables_.take(place_of(name)))
      batches.push_back(std::make_unique<GatheredBatch>(std::move(schema), std::move(array)));
    return batches;
  }
  py::capsule schema(const std::string& name) const {
    return capsule_of(internal::schema_of(tables_.layout(place_of(name))).give());
  }

 private:
  std::size_t place_of(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw py::key_error(name);
    return static_cast<std::size_t>(found - names_.begin());
  }

  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  internal::GatheredTables tables_;
};

/// Name -> of which table, which kinds of events, and which columns; empty: all.
using Wanted = std::map<std::string, std::tuple<std::string, std::vector<std::string>, std::vector<std::string>>>;

std::unique_ptr<HeldTables> made_of(const Wanted& wanted) {
  std::vector<std::string> names;
  std::vector<internal::TableLayout> layouts;
  for (const auto& [name, of] : wanted) {
    const auto& [table, kinds, columns] = of;
    names.push_back(name);
    const std::vector<EventKind> of_kinds = kinds.empty() ? std::vector<EventKind>() : kinds_of(py::cast(kinds));
    layouts.push_back(internal::signed_part_of(internal::layout_of(table_named(table)), of_kinds, columns));
  }
  return std::make_unique<HeldTables>(std::move(names), std::move(layouts));
}

}  // namespace

void bind_gathered_tables(py::module_& module) {
  py::class_<GatheredBatch>(module, "GatheredBatch")
      .def(
          "__arrow_c_array__", [](GatheredBatch& batch, const py::object& /*schema*/) { return batch.give(); },
          py::arg("requested_schema") = py::none());
  py::class_<HeldTables>(module, "GatheredTables")
      .def(py::init(&made_of), py::arg("wanted"))
      .def("read", &HeldTables::read, py::arg("reader"), py::arg("names"), py::arg("looks"),
           py::call_guard<ReleasedGil>())
      .def("bytes", &HeldTables::bytes, py::call_guard<ReleasedGil>())
      .def("take", &HeldTables::take, py::arg("name"), py::call_guard<ReleasedGil>())
      .def("schema", &HeldTables::schema, py::arg("name"));
}

}  // namespace tracer::python
