// SPDX-License-Identifier: Apache-2.0
/// What happened, as lines of text.
#include <pybind11/pybind11.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "binders.hpp"
#include "gil.hpp"
#include "insight/recorded_events.hpp"
#include "recording.hpp"
#include "report/asked_work.hpp"
#include "show/log_text.hpp"
#include "show/screen.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {
namespace {

/// Lines of a recording, piece by piece.
class RecordedLog {
 public:
  RecordedLog(HeldReader& reader, const py::str& asked)
      : reader_(reader.take()), events_(reader_), asked_(bytes_of(asked)), text_(reader_.host().wall_offset_ns) {}

  /// Those of the next events, which may be none; None: there are no more events.
  py::object read() {
    constexpr std::size_t kEventsOfPiece = 4096;  // Some milliseconds.
    std::optional<std::string> lines;
    {
      const ReleasedGil released;
      const std::lock_guard lock(mutex_);
      // Python's text is Unicode, whatever the locale is.
      const internal::Utf8Scope utf8(true);
      for (std::size_t i = 0; !ended_ && i < kEventsOfPiece; ++i) {
        const std::optional<Event> event = events_.next();
        ended_ = !event.has_value();
        if (ended_) {
          text_.settle();
        } else if (asked_.takes(*event)) {
          text_.add(*event);
        }
        if (!lines) lines.emplace();
        *lines += text_.take();
      }
    }
    return lines ? py::object(text_of(*lines)) : py::none();
  }

 private:
  std::mutex mutex_;
  RecordingReader reader_;
  internal::RecordedEvents events_;
  internal::AskedWork asked_;
  internal::LogText text_;
  bool ended_ = false;
};

}  // namespace

void bind_log(py::module_& module) {
  py::class_<RecordedLog>(module, "RecordedLog")
      .def(py::init<HeldReader&, const py::str&>(), py::arg("reader"), py::arg("asked"))
      .def("read", &RecordedLog::read);
}

}  // namespace tracer::python
