// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/key.hpp>

namespace tracer::internal {

struct ListedContainer {
  std::optional<std::string> id;
  std::optional<std::string> name;
  std::optional<std::string> image;
  std::optional<std::string> runtime;
  std::optional<Key> run_key;
  std::optional<Key> task_key;
  std::string task;
  std::uint64_t begin_ns = 0;
  std::optional<std::uint64_t> end_ns;   ///< Of its last process.
  std::optional<std::uint64_t> gone_ns;  ///< When its cgroup was removed.
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> oom_kills;
  std::optional<std::uint64_t> peak_bytes;
};

/// The first kMost that began.
class ContainerList {
 public:
  static constexpr std::size_t kMost = 4096;

  void add(const Event& event);
  /// In the order of their starts.
  std::vector<ListedContainer> in_order() const;

 private:
  template <class Body>
  ListedContainer* listed(const Body& body, std::uint64_t begin_ns);

  std::map<std::pair<std::string, std::uint64_t>, ListedContainer> listed_;  ///< By id and begin.
};

}  // namespace tracer::internal
