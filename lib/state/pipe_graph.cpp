// SPDX-License-Identifier: Apache-2.0
#include "state/pipe_graph.hpp"

#include <algorithm>
#include <functional>

namespace tracer::internal {
namespace {

/// Less is not worth a word.
constexpr std::uint64_t kLeastWaitNs = 10'000'000;
/// A verdict needs as much to go by: programs begin and end within less, and wait meanwhile for those that do later.
constexpr std::uint64_t kLeastLifeNs = 500'000'000;
constexpr std::uint64_t kLeastWaitedNs = 50'000'000;
/// As much as a pipe holds: what reads and writes less passes on words, such as scripts do among each other.
constexpr std::uint64_t kLeastThroughputBytes = 65536;
/// What a child writes to its parent, or reads from it, is data, not an answer.
constexpr std::uint64_t kLeastDataBytes = 1 << 20;
constexpr double kLeastShare = 0.1;
/// A bottleneck waits for less than half of what the others do.
constexpr double kMostOfOthers = 0.5;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Tools, writers before readers; what goes in a circle comes as it is met.
std::vector<std::string> in_order(const std::set<std::string>& tools,
                                  const std::set<std::pair<std::string, std::string>>& edges) {
  std::vector<std::string> order;
  std::set<std::string> met;
  const std::function<void(const std::string&)> visit = [&](const std::string& tool) {
    if (!met.insert(tool).second) return;
    for (const auto& [writer, reader] : edges)
      if (reader == tool) visit(writer);
    order.push_back(tool);
  };
  for (const std::string& tool : tools) visit(tool);
  return order;
}

PipeUse use_of(const Process& process, std::optional<std::uint64_t> attached_ns, std::uint64_t begin_ns,
               std::uint64_t end_ns, const Account& account) noexcept {
  PipeUse use{process.pid, process.start_ns, begin_ns, end_ns};
  if (account.process_ledger) {
    use.sleep_ns = account.process_ledger->sleep_ns;
    use.network_ns = account.process_ledger->network_ns;
    use.disk_ns = account.process_ledger->disk_ns;
  }
  use.read_bytes = account.read_bytes.value_or(0);
  use.written_bytes = account.written_bytes.value_or(0);
  if (!account.ledger) return use;
  const Ledger& ledger = *account.ledger;
  const std::uint64_t since_ns = std::max(begin_ns == 0 ? end_ns : begin_ns, attached_ns.value_or(0));
  use.life_ns = end_ns - std::min(end_ns, since_ns);
  use.read_wait_ns = ledger.pipe_read_ns;
  use.write_wait_ns = ledger.pipe_write_ns;
  use.pipe_ns = ledger.pipe_ns;
  use.poll_ns = ledger.poll_ns;
  use.writer_pid = ledger.pipe_read_peer_pid.value_or(0);
  use.reader_pid = ledger.pipe_write_peer_pid.value_or(0);
  return use;
}

}  // namespace

PipeUse pipe_use_of(const ProcessExit& exit) noexcept {
  const ProgramAccount& program = exit.program;
  return use_of(*exit.process, exit.attached_ns, program.start_ns.value_or(0), program.end_ns.value_or(0),
                program.account);
}

PipeUse pipe_use_of(const ProcessSample& sample) noexcept {
  return use_of(*sample.process, sample.attached_ns, sample.process->start_ns, sample.time_ns, sample.account);
}

void PipeGraph::saw(const Process& process, const std::optional<std::string>& tool) {
  if (!tool || members_.size() >= kMostMembers) return;
  Member& member = members_[id_of(process)];
  member.tool = *tool;
  member.parent_pid = process.parent_pid;
}

/// The one that had this pid while the program ran; none if several had.
PipeGraph::Members::iterator PipeGraph::peer_of(std::uint32_t pid, const PipeUse& use) {
  auto found = members_.end();
  const ProcessId of{use.start_ns, use.pid};
  for (auto at = members_.lower_bound({0, pid}); at != members_.end() && at->first.pid == pid; ++at) {
    if (at->first == of || at->first.start_ns > use.end_ns) continue;
    if (at->second.end_ns && *at->second.end_ns < use.begin_ns) continue;
    if (found != members_.end()) return members_.end();
    found = at;
  }
  return found;
}

/// Where one is the other's parent, by what the child has read or written in all: nothing is known of that before its
/// end.
bool PipeGraph::is_data(const ProcessId& writer, const ProcessId& reader) const {
  const auto from = members_.find(writer);
  const auto to = members_.find(reader);
  // One is forgotten, and was in no pipe with the other.
  if (from == members_.end() || to == members_.end()) return false;
  if (from->second.parent_pid == reader.pid) return from->second.written_bytes >= kLeastDataBytes;
  if (to->second.parent_pid == writer.pid) return to->second.read_bytes >= kLeastDataBytes;
  return true;
}

void PipeGraph::Stage::add(const Stage& more) {
  life_ns += more.life_ns;
  pipe_ns += more.pipe_ns;
  poll_ns += more.poll_ns;
  sleep_ns += more.sleep_ns;
  network_ns += more.network_ns;
  disk_ns += more.disk_ns;
  data_bytes = std::max(data_bytes, more.data_bytes);
}

std::string PipeGraph::Stage::waits_for() const {
  const auto mostly = [this](std::uint64_t wait_ns) { return wait_ns > 0 && wait_ns >= life_ns / 2; };
  return mostly(network_ns) ? "network" : mostly(disk_ns) ? "disk" : mostly(sleep_ns) ? "sleep" : "";
}

void PipeGraph::join(Members::iterator writer, Members::iterator reader) {
  if (writer == members_.end() || reader == members_.end()) return;
  if (writer->second.readers.size() >= kMostNeighbors || reader->second.writers.size() >= kMostNeighbors) return;
  const auto insert = [](std::vector<ProcessId>& ids, const ProcessId& id) {
    const auto at = std::lower_bound(ids.begin(), ids.end(), id, ByPid());
    if (at == ids.end() || *at != id) ids.insert(at, id);
  };
  insert(writer->second.readers, reader->first);
  insert(reader->second.writers, writer->first);
}

void PipeGraph::ended(const PipeUse& use) {
  const ProcessId id{use.start_ns, use.pid};
  const auto self = members_.find(id);
  if (self == members_.end()) return;
  self->second.end_ns = use.end_ns == 0 ? use.start_ns : use.end_ns;
  self->second.stage = {use.life_ns, std::min(use.life_ns, use.pipe_ns)};
  self->second.stage.poll_ns = std::min(use.life_ns, use.poll_ns);
  self->second.stage.sleep_ns = use.sleep_ns;
  self->second.stage.network_ns = use.network_ns;
  self->second.stage.disk_ns = use.disk_ns;
  self->second.stage.data_bytes = std::max(use.read_bytes, use.written_bytes);
  self->second.read_bytes = use.read_bytes;
  self->second.written_bytes = use.written_bytes;
  if (use.writer_pid != 0 && use.read_wait_ns >= kLeastWaitNs) join(peer_of(use.writer_pid, use), self);
  if (use.reader_pid != 0 && use.write_wait_ns >= kLeastWaitNs) join(self, peer_of(use.reader_pid, use));
  ended_.push_back(id);
  if (ended_.size() <= kMostEnded) return;
  forget(ended_.front());
  ended_.pop_front();
}

std::set<ProcessId, ByPid> PipeGraph::joined_to(const ProcessId& id) const {
  std::set<ProcessId, ByPid> together;
  std::vector<ProcessId> found{id};
  while (!found.empty()) {
    const ProcessId next = found.back();
    found.pop_back();
    if (!together.insert(next).second) continue;
    const Member& member = members_.at(next);
    for (const ProcessId& writer : member.writers)
      if (is_data(writer, next)) found.push_back(writer);
    for (const ProcessId& reader : member.readers)
      if (is_data(next, reader)) found.push_back(reader);
  }
  return together;
}

/// Adds up its whole pipe, and forgets of that all that have ended.
void PipeGraph::forget(const ProcessId& id) {
  const auto at = members_.find(id);
  if (at == members_.end()) return;
  // Nearly all are in no pipe.
  if (at->second.writers.empty() && at->second.readers.empty()) {
    members_.erase(at);
    return;
  }
  const std::set<ProcessId, ByPid> together = joined_to(id);
  if (pipes_.size() < kMostPipes) add_pipe(together, pipes_);
  const auto leave = [&](const std::vector<ProcessId>& neighbors, const ProcessId& gone,
                         std::vector<ProcessId> Member::*list) {
    for (const ProcessId& each : neighbors)
      if (const auto neighbor = members_.find(each); neighbor != members_.end())
        std::erase(neighbor->second.*list, gone);
  };
  for (const ProcessId& each : together) {
    const auto member = members_.find(each);
    leave(member->second.writers, each, &Member::readers);
    leave(member->second.readers, each, &Member::writers);
    member->second.writers.clear();
    member->second.readers.clear();
    if (member->second.end_ns) members_.erase(member);
  }
}

void PipeGraph::add_pipe(const std::set<ProcessId, ByPid>& together, Pipes& pipes) const {
  std::set<std::string> tools;
  std::set<std::pair<std::string, std::string>> edges;
  for (const ProcessId& id : together) {
    const Member& member = members_.at(id);
    tools.insert(member.tool);
    for (const ProcessId& reader : member.readers)
      if (is_data(id, reader)) edges.insert({member.tool, members_.at(reader).tool});
  }
  // Of one that is in no pipe, or of a tool that passes data on to itself, nothing can be told.
  if (tools.size() < 2) return;
  auto& stages = pipes[in_order(tools, edges)];
  for (const ProcessId& id : together) {
    const Member& member = members_.at(id);
    stages[member.tool].add(member.stage);
  }
}

std::vector<Pipeline> PipeGraph::pipelines() const {
  Pipes pipes = pipes_;
  std::set<ProcessId, ByPid> placed;
  for (const auto& [id, member] : members_) {
    if (member.readers.empty() || placed.contains(id)) continue;
    const std::set<ProcessId, ByPid> together = joined_to(id);
    placed.insert(together.begin(), together.end());
    add_pipe(together, pipes);
  }

  std::vector<Pipeline> all;
  for (const auto& [names, stages] : pipes) {
    Pipeline pipeline;
    pipeline.stages = names;
    Stage sum;
    Stage bottleneck;
    std::uint64_t longest_ns = 0;
    double least = 2;
    for (const std::string& name : names) {
      const Stage& stage = stages.at(name);
      sum.life_ns += stage.life_ns;
      sum.pipe_ns += stage.pipe_ns;
      sum.data_bytes = std::max(sum.data_bytes, stage.data_bytes);
      longest_ns = std::max(longest_ns, stage.life_ns);
      const double waits = share(stage.pipe_ns, stage.life_ns);
      if (stage.life_ns == 0 || waits >= least) continue;
      least = waits;
      bottleneck = stage;
      pipeline.bottleneck = name;
    }
    pipeline.waited_ns = sum.pipe_ns;
    pipeline.bottleneck_share = pipeline.bottleneck.empty() ? 0 : least;
    pipeline.others_share = share(sum.pipe_ns - bottleneck.pipe_ns, sum.life_ns - bottleneck.life_ns);
    // What it waited for in a poll may have been its pipes.
    const double most_waits = share(bottleneck.pipe_ns + bottleneck.poll_ns, bottleneck.life_ns);
    if (pipeline.others_share < kLeastShare || most_waits > kMostOfOthers * pipeline.others_share ||
        longest_ns < kLeastLifeNs || sum.pipe_ns < kLeastWaitedNs || sum.data_bytes < kLeastThroughputBytes)
      pipeline.bottleneck.clear();
    else
      pipeline.bottleneck_waits_for = bottleneck.waits_for();
    all.push_back(std::move(pipeline));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.waited_ns > b.waited_ns; });
  return all;
}

}  // namespace tracer::internal
