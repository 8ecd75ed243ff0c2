// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tracer/host.hpp>
#include <tracer/sink.hpp>

namespace tracer::internal {

/// As recording_sink(), of what belongs to one user; absent: to all.
std::unique_ptr<Sink> recording_sink_of(std::optional<std::uint32_t> owner_uid, int file_descriptor, std::string name,
                                        const HostInfo& host, OutputLimit limit);

}  // namespace tracer::internal
