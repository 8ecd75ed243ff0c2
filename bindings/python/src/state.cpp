// SPDX-License-Identifier: Apache-2.0
/// The present state of sessions and recordings, as JSON.
#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/state.hpp>

#include "add_events.hpp"
#include "base/accounts.hpp"
#include "base/random.hpp"
#include "binders.hpp"
#include "gil.hpp"
#include "recording.hpp"
#include "report/state_tables.hpp"
#include "session.hpp"
#include "stream/recording_series.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

std::vector<std::string> texts_of(const py::list& list) {
  std::vector<std::string> texts;
  for (const py::handle each : list) texts.push_back(bytes_of(each));
  return texts;
}

StateQuery query_of(const py::str& since, const py::list& rows, const py::str& key, const py::list& fields) {
  return {bytes_of(since), texts_of(rows), bytes_of(key), texts_of(fields)};
}

/// Of a recording: each look reads what has come since the one before.
class RecordedState {
 public:
  explicit RecordedState(HeldReader& reader) : reader_(reader.take()), events_(reader_) {
    internal::RecordingAccess::series(reader_)->expect_growth();
  }

  py::str json(const py::str& since, const py::list& rows, const py::str& key, const py::list& fields) {
    const StateQuery query = query_of(since, rows, key, fields);
    std::optional<std::unique_lock<std::mutex>> lock;
    {
      // Whoever has the lock may wait for the GIL.
      const ReleasedGil released;
      lock.emplace(mutex_);
    }
    add_events(events_, tables_);
    tables_.set_damage(reader_.damage());
    std::string text;
    {
      const ReleasedGil released;
      text = tables_.json(query);
    }
    return text_of(text);
  }

 private:
  std::mutex mutex_;
  RecordingReader reader_;
  internal::RecordedEvents events_;
  internal::StateTables tables_{to_string(Key{internal::random_number()}), std::make_shared<internal::Accounts>(),
                                true};
};

py::str state_of(const HeldSession& held, const py::str& since, const py::list& rows, const py::str& key,
                 const py::list& fields) {
  const StateQuery query = query_of(since, rows, key, fields);
  std::string text;
  {
    const ReleasedGil released;
    text = held.session()->state(query);
  }
  return text_of(text);
}

}  // namespace

void bind_state(py::module_& module) {
  module.def("state_of_session", &state_of, py::arg("session"), py::arg("since"), py::arg("rows"), py::arg("key"),
             py::arg("fields"));
  py::class_<RecordedState>(module, "RecordedState")
      .def(py::init<HeldReader&>(), py::arg("reader"))
      .def("json", &RecordedState::json, py::arg("since"), py::arg("rows"), py::arg("key"), py::arg("fields"));
}

}  // namespace tracer::python
