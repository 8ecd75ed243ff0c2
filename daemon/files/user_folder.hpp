// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <tracer/run.hpp>

namespace tracerd {

/// A folder of `user`, absent: of the caller. The caller's is that which `variable` of the environment names, else, as
/// of another user, `below_home`. Empty: there is no home.
std::filesystem::path user_folder(const std::optional<tracer::User>& user, const char* variable,
                                  const char* below_home);

}  // namespace tracerd
