// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/side_thread.hpp"
#include "source/proc/container_files.hpp"

namespace tracer::internal {

/// Asks the files of container runtimes beside the events, which a file system that hangs must not hold up. Asked by
/// one thread.
class ContainerNames {
 public:
  using Read = std::function<ContainerFacts(const ContainerQuestion&)>;
  static constexpr std::size_t kMostAnswers =
      4096;  ///< That are open, or nobody has taken; of more, none is asked for.
  static constexpr std::chrono::milliseconds kPatience{5};

  explicit ContainerNames(Read read);

  /// Asks for the container with this number. Waits for a moment for the answer, unless an earlier one is still open.
  void ask(std::uint64_t number, ContainerQuestion question);
  /// Absent: it is not there yet, or was taken already.
  std::optional<ContainerFacts> take(std::uint64_t number);
  /// Nobody will take it.
  void forget(std::uint64_t number);

 private:
  struct State;
  std::shared_ptr<State> state_;
  SideThread thread_;
};

}  // namespace tracer::internal
