// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/recording.hpp>
#include <tracer/report.hpp>

#include "report/detailed_report.hpp"

namespace tracer::python {

using internal::DetailedReport;

class HeldSession;

/// How much of a session the events are.
enum class Extent {
  kWhole,
  kPart,  ///< Those of one command among others.
};

struct ReportOptions {
  SessionFigures session = {};        ///< As it was before the events were written that are to be read.
  const HeldSession* held = nullptr;  ///< It may still live; null: the events are a recording's.
  Extent extent = Extent::kWhole;
  std::optional<std::uint32_t> command_pid = {};  ///< Whose program is the command; absent: whose is seen first.
  std::size_t most_processes = 2000;
};

/// Reads to the end, in bounded memory, without the GIL; signals are looked for in between. Needs the GIL. Throws
/// pybind11::error_already_set.
DetailedReport read_report(RecordingReader& reader, const ReportOptions& options);

/// A dict with all that Python's classes hold, by the names of their fields. Needs the GIL.
pybind11::dict values_of(const DetailedReport& native);
/// The classes of a report's parts, as they are described; for scripts/python_events. Needs the GIL.
pybind11::list report_parts();
/// Of the waste, by the report's price; None where it has none. Needs the GIL.
pybind11::object waste_cost_value(const Report& report);
/// Its findings alone, as events. Needs the GIL.
pybind11::list findings_of(const DetailedReport& native);

}  // namespace tracer::python
