// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include <tracer/announcement.hpp>

namespace tracer::python {

/// `key`: work_dir, pid, cgroup, container, slurm_job (`value`: the text or number), or below (a pid and words). Needs
/// the GIL. Raises TypeError.
Announcement announcement_of(const std::string& key, const pybind11::object& value, const pybind11::object& context,
                             const pybind11::object& requested, double expires_after_s);

Submission submission_of(const pybind11::object& context, const pybind11::object& requested,
                         const pybind11::dict& expected, double expires_after_s);

}  // namespace tracer::python
