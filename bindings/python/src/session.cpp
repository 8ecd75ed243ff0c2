// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tracer/host.hpp>

#include "announcement.hpp"
#include "binders.hpp"
#include "callback.hpp"
#include "context.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "gil.hpp"
#include "options.hpp"
#include "queue.hpp"
#include "text.hpp"
#include "wait.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

using Held = std::shared_ptr<HeldSession>;

Held open_session(const py::dict& keywords, const py::object& recording) {
  SessionOptions options = options_of(keywords);
  if (recording.is_none()) {
    const ReleasedGil released;
    return std::make_shared<HeldSession>(std::move(options));
  }
  const std::string file = bytes_of(recording);
  const ReleasedGil released;
  return std::make_shared<HeldSession>(recording_source(file), std::move(options));
}

/// What `ask` returns, made without the GIL.
template <class Ask>
auto without_gil(Ask ask) {
  const ReleasedGil released;
  return ask();
}

py::dict dict_of(const Statistics& statistics) {
  py::dict made;
  made["records"] = statistics.records;
  made["record_bytes"] = statistics.record_bytes;
  made["events"] = statistics.events;
  made["callback_errors"] = statistics.callback_errors;
  made["secrets_masked"] = statistics.secrets_masked;
  made["announcements_met"] = statistics.announcements_met;
  made["announcements_expired"] = statistics.announcements_expired;
  made["announcements_refused"] = statistics.announcements_refused;
  made["cost_cpu_ns"] = statistics.cost.cpu_ns;
  made["cost_snapshots_cpu_ns"] = statistics.cost.snapshots_cpu_ns;
  made["cost_kernel_ns"] = statistics.cost.kernel_ns;
  made["cost_memory_bytes"] = statistics.cost.memory_bytes;
  made["cost_kernel_memory_bytes"] = statistics.cost.kernel_memory_bytes;
  py::dict losses;
  for (const auto& [cause, count] : statistics.losses) losses[text_of(cause)] = count;
  made["losses"] = losses;
  made["missed_at_most"] = statistics.missed_at_most;
  return made;
}

py::object problem_of(const Problem& problem) {
  const Problem all[] = {problem};
  return py::tuple(exception_of(all).attr("problems"))[0];
}

py::list families_of(const std::vector<FamilyState>& families) {
  py::list made;
  for (const FamilyState& each : families)
    made.append(py::make_tuple(text_of(to_string(each.family)), each.active, text_of(each.mechanism),
                               each.problem ? problem_of(*each.problem) : py::none()));
  return made;
}

}  // namespace

void bind_session(py::module_& module) {
  const auto kind = [](const py::object& name) { return name.is_none() ? std::nullopt : std::optional(kind_of(name)); };
  py::class_<HeldSession, Held>(module, "Session")
      .def(py::init(&open_session), py::arg("options"), py::arg("recording") = py::none())
      .def("record", &HeldSession::record, py::arg("fd"), py::arg("name"), py::call_guard<ReleasedGil>())
      .def("start", &HeldSession::start, py::call_guard<ReleasedGil>())
      .def("close",
           [](HeldSession& held) {
             wait_interruptibly(std::nullopt, [&](std::chrono::milliseconds slice) { return held.close(slice); });
           })
      .def_property_readonly("in_callback", &HeldSession::in_callback)
      .def_property_readonly("open", &HeldSession::open)
      .def_property_readonly("forked", &HeldSession::forked)
      .def_property_readonly("tier", [](const HeldSession& held) { return text_of(to_string(held.tier())); })
      .def_property_readonly("tier_problems",
                             [](const HeldSession& held) {
                               py::list made;
                               for (const Problem& each : held.tier_problems()) made.append(problem_of(each));
                               return made;
                             })
      .def("finished", [](const HeldSession& held) { return held.session()->finished(); })
      .def("fd", [](const HeldSession& held) { return held.session()->fd(); })
      .def(
          "flush",
          [](HeldSession& held, std::optional<double> timeout) {
            static_cast<void>(held.session());
            return wait_interruptibly(timeout, [&](std::chrono::milliseconds slice) { return held.flush(slice); });
          },
          py::arg("timeout") = py::none())
      .def(
          "track",
          [](const HeldSession& held, int pid, const py::object& fields) {
            const Context context = context_of(fields);
            without_gil([&] { held.session()->track(pid, context); });
          },
          py::arg("pid"), py::arg("context") = py::none())
      .def(
          "announce",
          [](const HeldSession& held, const std::string& key, const py::object& value, const py::object& context,
             const py::object& requested, double expires_after_s) {
            const Announcement announcement = announcement_of(key, value, context, requested, expires_after_s);
            without_gil([&] { held.session()->announce(announcement); });
          },
          py::arg("key"), py::arg("value"), py::arg("context"), py::arg("requested"), py::arg("expires_after_s"))
      .def(
          "submit",
          [](const HeldSession& held, const py::object& context, const py::object& requested, const py::dict& expected,
             double expires_after_s) {
            const Submission submission = submission_of(context, requested, expected, expires_after_s);
            return to_string(without_gil([&] { return held.session()->submit(submission); }));
          },
          py::arg("context"), py::arg("requested"), py::arg("expected"), py::arg("expires_after_s"))
      .def(
          "withdraw",
          [](const HeldSession& held, const std::string& key, const std::string& outcome,
             std::optional<std::int32_t> exit_code) {
            const auto known = key_from(key);
            if (!known)
              throw Error(
                  {ErrorCode::kInvalidArgument, 0, "\"" + key + "\" is no key", "give what submit() returned", {}});
            without_gil([&] { held.session()->withdraw({*known, outcome, exit_code}); });
          },
          py::arg("key"), py::arg("outcome"), py::arg("exit_code"))
      .def("families",
           [](const HeldSession& held) { return families_of(without_gil([&] { return held.figures(); }).families); })
      .def("statistics",
           [](const HeldSession& held) { return dict_of(without_gil([&] { return held.figures(); }).statistics); })
      .def("totals",
           [](const HeldSession& held) {
             py::list made;
             for (const ContextTotals& each : without_gil([&] { return held.figures(); }).totals)
               made.append(object_of(each));
             return made;
           })
      .def("living",
           [](const HeldSession& held) {
             std::vector<Event> events;
             for (ProcessSample& each : without_gil([&] { return held.session()->living(); }))
               events.emplace_back(std::move(each));
             return objects_of(events);
           })
      .def("explain",
           [](const HeldSession& held) {
             py::list lines;
             for (const std::string& line : without_gil([&] { return held.session()->explain(); }))
               lines.append(text_of(line));
             return lines;
           })
      .def("host", [](const HeldSession& held) { return object_of(held.host()); })
      .def("rule_problems",
           [](const HeldSession& held) {
             py::list problems;
             for (const Problem& each : held.rule_problems()) problems.append(problem_of(each));
             return problems;
           })
      .def("recording_problem",
           [](const HeldSession& held) {
             const auto problem = without_gil([&] { return held.recording_problem(); });
             return problem ? problem_of(*problem) : py::none();
           })
      .def("rescued", &HeldSession::rescued)
      .def("recording_dropped", &HeldSession::recording_dropped, py::call_guard<ReleasedGil>())
      .def(
          "queue",
          [](const HeldSession& held, const py::object& kinds, std::size_t capacity_bytes, bool living_first) {
            QueueOptions options;
            if (!kinds.is_none()) options.kinds = kinds_of(kinds);
            // Whoever asks for some kinds gets no other: the end of the stream says that the session has ended.
            options.session_end = options.kinds.empty();
            options.capacity_bytes = capacity_bytes;
            options.when_full = held.when_full();
            options.living_first = living_first;
            return without_gil([&] { return std::make_unique<HeldQueue>(held.session()->queue(std::move(options))); });
          },
          py::arg("kinds"), py::arg("capacity_bytes"), py::arg("living_first"))
      .def(
          "on",
          [kind](const HeldSession& held, const py::object& name, bool living_first, py::function callback) {
            return subscribe(held.session(), kind(name), living_first, std::move(callback));
          },
          py::arg("kind"), py::arg("living_first"), py::arg("callback"));
  module.def("tiers_to_try", [] {
    py::list names;
    for (const Tier tier : tiers_to_try()) names.append(text_of(to_string(tier)));
    return names;
  });
  module.def("service_socket_to_try", [] { return text_of(service_socket_to_try().string()); });
  module.def("this_host", [] { return object_of(without_gil([] { return this_host(); })); });
}

}  // namespace tracer::python
