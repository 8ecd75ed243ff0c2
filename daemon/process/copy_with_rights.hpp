// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracerd {

/// Where `tracerd setup` puts a copy that may trace.
inline constexpr const char* kCopyWithRights = "/usr/local/bin/tracerd";

/// For a user without rights, and without a service: becomes the copy if there is one that this user may execute. Does not
/// return then. A tracerd of pip or conda loses its capabilities with each upgrade, and has none on NFS and nosuid mounts.
void become_copy_with_rights(char** argv);

}  // namespace tracerd
