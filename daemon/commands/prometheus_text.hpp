// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tracerd {

/// What a service says to `status` and `usage`, as text for Prometheus. Throws json::exception: that makes no sense.
std::string prometheus_text(const nlohmann::json& status, const nlohmann::json& usage);

}  // namespace tracerd
