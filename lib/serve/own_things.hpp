// SPDX-License-Identifier: Apache-2.0
/// What a client may speak of: their own folders, processes and threads. All throw Error(kPermission) for another
/// user's, and Error(kFilterNamesNothing) for what is not there; root may speak of everything.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <tracer/announcement.hpp>

#include "context/announcements.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// A folder, or, if it is not there yet, the deepest one above it that is. No part of its path may be a link: what it
/// leads to could change hands. A refusal says nothing of what is there. Returns the folder itself, by which that was
/// judged. May wait for a file system.
JudgedFolder require_own_folder(const Peer& peer, const std::string& path);
/// Whose real user is the peer, now.
void require_own_process(const Peer& peer, pid_t pid);
/// The number that this process knows the thread by, which the peer calls `tid` in its own pid namespace. It must be a
/// thread of the process that connected.
pid_t require_own_thread(const Peer& peer, pid_t tid);
/// What an announcement is about; of a work directory the folder, unless the peer is root.
std::optional<JudgedFolder> require_own(const Peer& peer, const AnnouncementKey& key);

}  // namespace tracer::internal
