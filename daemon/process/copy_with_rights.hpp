// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace tracerd {

/// Where `tracerd setup` puts a copy that may trace.
inline constexpr const char* kCopyWithRights = "/usr/local/bin/tracerd";

/// For a user without rights, and without a service: becomes the copy if there is one that this user may execute. Does
/// not return then. A tracerd of pip or conda loses its capabilities with each upgrade, and has none on NFS and nosuid
/// mounts.
void become_copy_with_rights(char** argv);

/// Absent: there is none that may trace, or this user may not execute it.
std::optional<std::string> version_of_copy();

}  // namespace tracerd
