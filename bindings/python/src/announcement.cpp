// SPDX-License-Identifier: Apache-2.0
#include "announcement.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "context.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

AnnouncementKey key_of(const std::string& key, const py::object& value) {
  if (key == "work_dir") return InWorkDir{bytes_of(value)};
  if (key == "pid") return OfProcess{py::cast<pid_t>(value)};
  if (key == "cgroup") return InCgroup{bytes_of(value)};
  if (key == "container") return InContainer{bytes_of(value)};
  if (key == "slurm_job") return InSlurmJob{bytes_of(py::str(value))};
  if (key != "below") throw py::type_error(fmt::format("nothing can be announced by its {}", key));
  const auto pair = py::cast<py::tuple>(value);
  BelowProcess below{{py::cast<pid_t>(pair[0])}, {}};
  for (const py::handle word : py::reinterpret_borrow<py::object>(pair[1])) below.argv.push_back(bytes_of(word));
  return below;
}

Requested requested_of(const py::object& fields) {
  Requested requested;
  if (fields.is_none()) return requested;
  for (const auto& [key, value] : py::cast<py::dict>(fields)) {
    const auto name = py::cast<std::string>(key);
    if (value.is_none()) continue;
    if (name == "millicpus") {
      requested.millicpus = py::cast<std::uint64_t>(value);
    } else if (name == "memory_bytes") {
      requested.memory_bytes = py::cast<std::uint64_t>(value);
    } else if (name == "time_ns") {
      requested.time_ns = py::cast<std::uint64_t>(value);
    } else if (name == "container") {
      requested.container = bytes_of(value);
    } else if (name == "tag") {
      requested.tag = bytes_of(value);
    } else {
      throw py::type_error(fmt::format("nothing can be requested of {}", name));
    }
  }
  return requested;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  constexpr double kMost = 1e9;
  // What is no number is no time.
  const double known = seconds >= 0.0 ? std::min(seconds, kMost) : 0.0;
  return std::chrono::milliseconds(static_cast<std::int64_t>(known * 1e3));
}

}  // namespace

Announcement announcement_of(const std::string& key, const py::object& value, const py::object& context,
                             const py::object& requested, double expires_after_s) {
  return {key_of(key, value), context_of(context), requested_of(requested), milliseconds_of(expires_after_s)};
}

Submission submission_of(const py::object& context, const py::object& requested, const py::dict& expected,
                         double expires_after_s) {
  Submission submission{context_of(context), requested_of(requested)};
  for (const auto& [step, tasks] : expected)
    submission.expected.push_back({bytes_of(py::reinterpret_borrow<py::object>(step)), py::cast<std::uint64_t>(tasks)});
  submission.expires_after = milliseconds_of(expires_after_s);
  return submission;
}

}  // namespace tracer::python
