// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <tracer/process.hpp>

#include "base/folder.hpp"
#include "context/scope.hpp"

namespace tracer::internal {

/// A process that has begun others, for as long as one of its descendants lives: announcements may come to it late.
struct Lineage {
  std::shared_ptr<Lineage> up = {};             ///< Of its parent.
  std::shared_ptr<const Process> process = {};  ///< As it was last.
  std::shared_ptr<Scope> scope = {};            ///< Where it is, or was last.
  std::optional<Folder> folder = {};            ///< As in ContextPlace.
  std::shared_ptr<Scope> announced = {};        ///< Where an announcement has put it after it had begun children.
  std::uint64_t looked_at = 0;                  ///< As ContextPlace::looked_at.
  std::size_t depth = 0;
  bool ended = false;
};

/// Where a process is, as far as rules, labels and announcements go. Children begin with a copy.
struct ContextPlace {
  std::shared_ptr<Scope> scope = {};            ///< Null: in none.
  std::optional<std::size_t> rule = {};         ///< That its program matches.
  std::optional<std::size_t> parent_rule = {};  ///< That its parent's program matched when it began.
  bool own = false;                             ///< It does the engine's own work.
  bool own_tree = false;                        ///< So will its descendants.
  std::optional<std::size_t> own_rule = {};     ///< The last that said so.
  bool elsewhere = false;                       ///< See EngineRule::elsewhere.
  bool again = false;                           ///< See EngineRule::again; of what it has executed so far.
  std::shared_ptr<const Cgroup> cgroup = {};    ///< For which this was resolved.
  std::optional<Folder> folder = {};            ///< In which its program began.
  std::shared_ptr<Lineage> above = {};          ///< Of its parent; null: it was not seen.
  std::shared_ptr<Lineage> self = {};           ///< Null: it has begun no process.
  std::uint64_t looked_at = 0;                  ///< The epoch of the announcements that were compared with it.
};

}  // namespace tracer::internal
