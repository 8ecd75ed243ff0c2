// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/summary.hpp>

namespace tracer::internal {

/// Which tools are joined by pipes, from what each waited for and who ended its waits. Bounded: it remembers the tools
/// of the last processes only, and so many edges.
class PipeGraph {
 public:
  void saw(const Process& process);
  void ended(const Process& process, const ProgramAccount& program);
  std::vector<Pipeline> pipelines() const;

 private:
  static constexpr std::size_t kMostRemembered = 8192;
  static constexpr std::size_t kMostEdges = 1024;

  struct Stage {
    std::uint64_t wall_ns = 0;
    std::uint64_t pipe_ns = 0;
  };
  /// Of a pipe, by tool.
  struct Ends {
    std::string writer;
    std::string reader;
    auto operator<=>(const Ends&) const = default;
  };
  std::string tool_of(std::uint32_t pid) const;
  void join(std::string writer, std::string reader);
  std::vector<std::string> in_order(const std::set<std::string>& stages) const;

  std::unordered_map<std::uint32_t, std::string> tools_;
  std::deque<std::uint32_t> remembered_;
  std::set<Ends> edges_;
  std::map<std::string, Stage> stages_;
};

}  // namespace tracer::internal
