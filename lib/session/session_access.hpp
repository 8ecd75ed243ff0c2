// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <tracer/session.hpp>

namespace tracer::internal {

class Reader;
struct KernelSourceOptions;

/// What is behind a session, for a service that answers for others: it judges by their credentials, not by its own.
struct SessionAccess {
  static std::shared_ptr<Reader> reader(const Session& session);
  /// As in ReportCost.
  static std::uint64_t start_cpu_ns(const Session& session);
  /// Of the kernel, whatever the tiers; `adjust`: what only a service asks of it. Throws what Session's constructor
  /// throws.
  static std::unique_ptr<Session> of_kernel(const SessionOptions& options,
                                            const std::function<void(KernelSourceOptions&)>& adjust);
};

}  // namespace tracer::internal
