// SPDX-License-Identifier: Apache-2.0
#include "summary/pipe_graph.hpp"

#include <algorithm>
#include <functional>

namespace tracer::internal {
namespace {

/// Less is not worth a word.
constexpr std::uint64_t kLeastWaitNs = 10'000'000;
constexpr double kLeastShare = 0.1;
/// A bottleneck waits for less than half of what the others do.
constexpr double kMostOfOthers = 0.5;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void PipeGraph::saw(const Process& process) {
  if (!process.tool) return;
  const auto [at, fresh] = tools_.insert_or_assign(process.pid, *process.tool);
  if (!fresh) return;
  remembered_.push_back(process.pid);
  if (remembered_.size() <= kMostRemembered) return;
  tools_.erase(remembered_.front());
  remembered_.pop_front();
}

std::string PipeGraph::tool_of(std::uint32_t pid) const {
  const auto at = tools_.find(pid);
  return at == tools_.end() ? std::string() : at->second;
}

void PipeGraph::join(std::string writer, std::string reader) {
  if (writer.empty() || reader.empty() || writer == reader || edges_.size() >= kMostEdges) return;
  edges_.insert({std::move(writer), std::move(reader)});
}

void PipeGraph::ended(const Process& process, const ProgramAccount& program) {
  saw(process);
  const Ledger& ledger = program.account.ledger;
  if (!program.tool || !ledger.wall_ns) return;
  Stage& stage = stages_[*program.tool];
  stage.wall_ns += *ledger.wall_ns;
  stage.pipe_ns += ledger.pipe_ns.value_or(0);
  if (ledger.pipe_read_peer_pid && ledger.pipe_read_ns.value_or(0) >= kLeastWaitNs)
    join(tool_of(*ledger.pipe_read_peer_pid), *program.tool);
  if (ledger.pipe_write_peer_pid && ledger.pipe_write_ns.value_or(0) >= kLeastWaitNs)
    join(*program.tool, tool_of(*ledger.pipe_write_peer_pid));
}

/// Writers before readers; what goes in a circle comes as it is met.
std::vector<std::string> PipeGraph::in_order(const std::set<std::string>& stages) const {
  std::vector<std::string> order;
  std::set<std::string> met;
  const std::function<void(const std::string&)> visit = [&](const std::string& stage) {
    if (!met.insert(stage).second) return;
    for (const Ends& edge : edges_)
      if (edge.reader == stage) visit(edge.writer);
    order.push_back(stage);
  };
  for (const std::string& stage : stages) visit(stage);
  return order;
}

std::vector<Pipeline> PipeGraph::pipelines() const {
  std::vector<Pipeline> all;
  std::set<std::string> placed;
  for (const Ends& first : edges_) {
    if (placed.contains(first.writer)) continue;
    std::set<std::string> together{first.writer, first.reader};
    for (std::size_t before = 0; before != together.size();) {
      before = together.size();
      for (const Ends& edge : edges_)
        if (together.contains(edge.writer) || together.contains(edge.reader))
          together.insert({edge.writer, edge.reader});
    }
    placed.insert(together.begin(), together.end());

    Pipeline pipeline;
    pipeline.stages = in_order(together);
    Stage sum;
    double least = 2;
    for (const std::string& name : pipeline.stages) {
      const auto at = stages_.find(name);
      if (at == stages_.end()) continue;
      sum.wall_ns += at->second.wall_ns;
      sum.pipe_ns += at->second.pipe_ns;
      const double waits = share(at->second.pipe_ns, at->second.wall_ns);
      if (waits >= least) continue;
      least = waits;
      pipeline.bottleneck = name;
    }
    pipeline.waited_ns = sum.pipe_ns;
    if (const auto at = stages_.find(pipeline.bottleneck); at != stages_.end()) {
      pipeline.bottleneck_share = least;
      pipeline.others_share = share(sum.pipe_ns - at->second.pipe_ns, sum.wall_ns - at->second.wall_ns);
    }
    if (pipeline.others_share < kLeastShare || pipeline.bottleneck_share > kMostOfOthers * pipeline.others_share)
      pipeline.bottleneck.clear();
    all.push_back(std::move(pipeline));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.waited_ns > b.waited_ns; });
  return all;
}

}  // namespace tracer::internal
