// SPDX-License-Identifier: Apache-2.0
/// A running `tracerd serve` as a source: its events over one connection, and requests over another.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <tracer/families.hpp>
#include <tracer/filter.hpp>

#include "source/source.hpp"

namespace tracer::internal {

struct ServiceSourceOptions {
  std::filesystem::path socket;
  /// The service sends what it takes in, and the labels of its rules become the service's. If a request can't have such
  /// a filter (see fits_request()), everything comes.
  Filter filter = {};
  /// A process whose program is a run; 0: none.
  pid_t command_pid = 0;
  /// Those of them that the service does not trace are reported as missing.
  std::vector<Family> families = {};
};

/// Throws Error: kNoService, kPermission, kServiceVersion, kServiceRefused, kPidNamespace, kFilterNamesNothing,
/// kInvalidArgument.
std::unique_ptr<Source> service_source(ServiceSourceOptions options);

}  // namespace tracer::internal
