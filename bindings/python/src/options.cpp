// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <pybind11/stl.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "context.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

[[noreturn]] void refuse(std::string what, std::string fix) {
  throw Error({ErrorCode::kInvalidArgument, 0, std::move(what), std::move(fix), {}});
}

std::size_t size_of(py::handle value, const std::string& name) {
  if (!PyLong_Check(value.ptr()) || PyBool_Check(value.ptr()))
    throw py::type_error(fmt::format("{} is a whole number, not {}", name, Py_TYPE(value.ptr())->tp_name));
  const std::size_t size = PyLong_AsSize_t(value.ptr());
  if (size == static_cast<std::size_t>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(fmt::format("{} can't be {}", name, py::cast<std::string>(py::str(value))), "give a number from 1 on");
  }
  return size;
}

bool bool_of(py::handle value, const std::string& name) {
  if (!PyBool_Check(value.ptr()))
    throw py::type_error(fmt::format("{} is True or False, not {}", name, Py_TYPE(value.ptr())->tp_name));
  return value.ptr() == Py_True;
}

double seconds_of(py::handle value, const std::string& name) {
  if ((!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr())) || PyBool_Check(value.ptr()))
    throw py::type_error(fmt::format("{} is a number, not {}", name, Py_TYPE(value.ptr())->tp_name));
  const double number = PyFloat_AsDouble(value.ptr());
  constexpr double kMost = 1e9;
  if ((number == -1.0 && PyErr_Occurred() != nullptr) || !(number >= 0.0 && number <= kMost)) {
    PyErr_Clear();
    refuse(fmt::format("{} can't be {}", name, py::cast<std::string>(py::str(value))), "give a number of at least 0");
  }
  return number;
}

std::vector<Family> families_of(py::handle names) {
  if (PyUnicode_Check(names.ptr())) throw py::type_error("families is a collection of names, not one text");
  std::vector<Family> families;
  for (const py::handle name : py::reinterpret_borrow<py::object>(names)) {
    const std::string text = bytes_of(name);
    const auto family = family_from_name(text);
    if (!family) refuse(fmt::format("there is no family \"{}\"", text), "name some of: " + names_of_families());
    if (info_of(*family).use != FamilyUse::kAlways) families.push_back(*family);
  }
  return families;
}

std::uint64_t number_of(py::handle value, const std::string& what, std::uint64_t most) {
  const std::size_t number = size_of(value, what);
  if (number > most) refuse(fmt::format("{} can't be {}", what, number), "give the number that the system shows");
  return number;
}

/// (include, "pid" and so on, number or text, context).
void add_rule(Filter& filter, const py::tuple& rule) {
  using Text = Filter& (Filter::*)(std::string);
  struct Subject {
    std::string_view name;
    Text include;
    Text exclude;
  };
  static constexpr std::array<Subject, 3> kGlobs = {{
      {"exe", &Filter::include_exe, &Filter::exclude_exe},
      {"tool", &Filter::include_tool, &Filter::exclude_tool},
      {"argument", &Filter::include_argument, &Filter::exclude_argument},
  }};
  const bool include = py::cast<bool>(rule[0]);
  const auto subject = py::cast<std::string>(rule[1]);
  const py::object value = rule[2];
  Context context = context_of(rule[3]);
  if (subject == "pid") {
    constexpr std::uint64_t kMost = std::numeric_limits<pid_t>::max();
    const auto pid = static_cast<pid_t>(number_of(value, "a process", kMost));
    include ? filter.include_tree(pid, std::move(context)) : filter.exclude_tree(pid);
    return;
  }
  if (subject == "uid") {
    const auto uid = static_cast<uid_t>(number_of(value, "a user", std::numeric_limits<uid_t>::max()));
    include ? filter.include_uid(uid) : filter.exclude_uid(uid);
    return;
  }
  if (subject == "cgroup") {
    std::string path = bytes_of(value);
    include ? filter.include_cgroup(std::move(path), std::move(context)) : filter.exclude_cgroup(std::move(path));
    return;
  }
  for (const Subject& each : kGlobs)
    if (each.name == subject) {
      (filter.*(include ? each.include : each.exclude))(bytes_of(value));
      return;
    }
  throw py::type_error(fmt::format("a filter has no {}", subject));
}

}  // namespace

SessionOptions options_of(const py::dict& keywords) {
  SessionOptions options;
  for (const auto& [key, value] : keywords) {
    const auto name = py::cast<std::string>(key);
    if (value.is_none()) continue;
    if (name == "rules") {
      for (const py::handle rule : py::reinterpret_borrow<py::object>(value))
        add_rule(options.filter, py::cast<py::tuple>(rule));
    } else if (name == "families") {
      options.families = families_of(value);
    } else if (name == "sample_interval") {
      options.sample_interval = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds_of(value, name)));
    } else if (name == "max_cost_share") {
      options.max_cost_share = seconds_of(value, name);
    } else if (name == "ring_bytes") {
      options.ring_bytes = size_of(value, name);
    } else if (name == "max_processes") {
      options.max_processes = size_of(value, name);
    } else if (name == "max_threads") {
      options.max_threads = size_of(value, name);
    } else if (name == "max_cgroups") {
      options.max_cgroups = size_of(value, name);
    } else if (name == "max_contexts") {
      options.max_contexts = size_of(value, name);
    } else if (name == "max_labeled_threads") {
      options.max_labeled_threads = size_of(value, name);
    } else if (name == "max_announcements") {
      options.max_announcements = size_of(value, name);
    } else if (name == "mask_secrets") {
      options.mask_secrets = bool_of(value, name);
    } else if (name == "hash_paths") {
      options.hash_paths = bool_of(value, name);
    } else if (name == "read_engine_notes") {
      options.read_engine_notes = bool_of(value, name);
    } else if (name == "findings") {
      options.findings = bool_of(value, name);
    } else if (name == "history") {
      options.history = bytes_of(value);
    } else if (name == "command_pid") {
      options.command_pid = static_cast<pid_t>(number_of(value, "a process", std::numeric_limits<pid_t>::max()));
    } else if (name == "tiers") {
      options.tiers.clear();
      for (const py::handle tier : py::reinterpret_borrow<py::object>(value)) {
        const std::string text = bytes_of(tier);
        const auto known = tier_from_name(text);
        if (!known) refuse(fmt::format("there is no tier \"{}\"", text), "name kernel or service");
        options.tiers.push_back(*known);
      }
    } else if (name == "service_socket") {
      options.service_socket = bytes_of(value);
    } else if (name == "tool_rules") {
      options.tool_rules = bytes_of(value);
    } else if (name == "secret_rules") {
      options.secret_rules = bytes_of(value);
    } else if (name == "engine_rules") {
      options.engine_rules = bytes_of(value);
    } else {
      throw py::type_error(fmt::format("a session has no option {}", name));
    }
  }
  return options;
}

}  // namespace tracer::python
