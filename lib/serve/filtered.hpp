// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "correlate/replay_filter.hpp"
#include "serve/outbox.hpp"

namespace tracer::internal {

/// What a filter has taken in of what a sight may see. Clients that have asked for equal filters share it.
struct Filtered {
  /// Of a user with more living processes, what their descendants are is not known any more, and that is a Loss.
  static constexpr std::size_t kMostProcesses = 65536;
  /// Streams that have left, for clients that come back.
  static constexpr std::size_t kMostLeft = 64;

  struct Stream {
    const Outbox* outbox = nullptr;  ///< Null: its client has left.
    std::chrono::steady_clock::time_point left = {};
    uid_t payer = 0;  ///< Whose client has it, or had it last. Root's, and what nobody has come back for, costs nobody.
  };

  std::string rules;   ///< As text_of() gives them.
  bool shared = true;  ///< False: it has also taken in what the rules do not name, for one client.
  ReplayFilter filter;
  std::uint64_t evaluations = 0;
  std::map<std::uint64_t, Stream> streams = {};  ///< By what clients call them.
};

}  // namespace tracer::internal
