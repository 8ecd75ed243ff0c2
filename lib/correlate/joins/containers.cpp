// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/containers.hpp"

#include <algorithm>
#include <utility>

#include "correlate/cgroup_table.hpp"
#include "rules/container_rules.hpp"

namespace tracer::internal {
namespace {

/// `cgroup` is `above`, or a cgroup below it.
bool is_within(const Cgroup& cgroup, const Cgroup& above) {
  const std::string_view path = *cgroup.path;
  return cgroup.hierarchy == above.hierarchy && path.starts_with(*above.path) &&
         (path.size() == above.path->size() || path[above.path->size()] == '/');
}

/// By its cgroup, too: anybody who may make cgroups can name one after another's container.
std::string key_of_container(const Cgroup& cgroup) {
  return cgroup.hierarchy.value_or("") + ':' + std::string(container_cgroup(*cgroup.path, *cgroup.container_id));
}

}  // namespace

ContainersJoin::ContainersJoin(std::shared_ptr<Accounts> accounts, Read read)
    : read_(std::move(read)),
      containers_(kMostBytes, "containers_full", std::move(accounts),
                  [this](Serial serial, const Container& container) { forget_container(serial, container); }) {}

void ContainersJoin::take_names(Serial serial, ContainerFinish& finish) {
  auto facts = names_.take(serial);
  if (!facts) return;
  finish.name = std::move(facts->name);
  finish.image = std::move(facts->image);
}

ContainersJoin::Container* ContainersJoin::find(Serial serial) { return containers_.find(serial); }

ContainersJoin::Container* ContainersJoin::container_of(std::uint32_t pid, std::uint64_t start_ns) {
  const auto member = members_.find(pid);
  return member == members_.end() || member->second.start_ns != start_ns ? nullptr : find(member->second.container);
}

void ContainersJoin::leave(std::uint32_t pid, std::uint64_t start_ns) {
  const auto member = members_.find(pid);
  if (member == members_.end() || member->second.start_ns != start_ns) return;
  if (Container* const container = find(member->second.container)) --container->living;
  members_.erase(member);
}

void ContainersJoin::forget_container(Serial serial, const Container& container) {
  for (const auto& cgroup : container.topmost) cgroups_.erase(key_of(*cgroup));
  const auto open = open_.find(container.key);
  if (open != open_.end() && open->second == serial) open_.erase(open);
  names_.forget(serial);
}

void ContainersJoin::note_cgroup(Serial serial, const std::shared_ptr<const Cgroup>& cgroup) {
  auto& topmost = containers_.find(serial)->topmost;
  for (const auto& above : topmost)
    if (is_within(*cgroup, *above)) return;
  std::erase_if(topmost, [&](const auto& below) {
    if (!is_within(*below, *cgroup)) return false;
    cgroups_.erase(key_of(*below));
    return true;
  });
  if (topmost.size() >= kMostCgroupsOfContainer || !cgroups_.emplace(key_of(*cgroup), serial).second) return;
  topmost.push_back(cgroup);
}

ContainersJoin::Serial ContainersJoin::begin(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                                             std::vector<Event>& events) {
  const Cgroup& cgroup = *process->cgroup;
  const auto place = ContainerRules::builtin().place_of(*cgroup.path, *cgroup.container_id);
  ContainerStart start;
  start.time_ns = time_ns;
  start.process = process;
  if (place) start.runtime = place->runtime;
  Container container{key_of_container(cgroup), {}};
  container.finish.process = process;
  container.finish.runtime = start.runtime;
  container.finish.begin_ns = time_ns;
  container.finish.oom_kills = 0;
  ++last_;
  if (place && !place->files.empty()) {
    const ContainerQuestion question{*cgroup.container_id, place->files, owner_of_slice(*cgroup.path)};
    names_.ask(last_, question.owner.value_or(0), [read = read_, question] { return read(question); });
  }
  take_names(last_, container.finish);
  start.name = container.finish.name;
  start.image = container.finish.image;
  // With what its process and cgroups take.
  constexpr std::size_t kBytes = 2048;
  const std::size_t bytes = kBytes + container.key.size();
  containers_.put(last_, process->uid, bytes, std::move(container));
  open_.insert_or_assign(key_of_container(cgroup), last_);
  events.emplace_back(std::move(start));
  return last_;
}

/// The container that the process is in now. Null: in none.
ContainersJoin::Container* ContainersJoin::enter(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                                                 std::vector<Event>& events) {
  const Cgroup& cgroup = *process->cgroup;
  Container* const before = members_.empty() ? nullptr : container_of(process->pid, process->start_ns);
  if (!cgroup.container_id) {
    if (before) leave(process->pid, process->start_ns);
    return nullptr;
  }
  // What ends after its cgroup was removed has not gone anywhere else.
  const std::string key = key_of_container(cgroup);
  if (before && before->key == key && before->topmost.empty()) return before;
  const auto open = open_.find(key);
  if (open == open_.end()) {
    const auto place = ContainerRules::builtin().place_of(*cgroup.path, *cgroup.container_id);
    if (place && place->monitor) {
      if (before) leave(process->pid, process->start_ns);
      return nullptr;
    }
  }
  const Serial serial = open != open_.end() ? open->second : begin(time_ns, process, events);
  note_cgroup(serial, process->cgroup);
  Container& now = *containers_.find(serial);
  if (container_of(process->pid, process->start_ns) != &now) {
    leave(process->pid, process->start_ns);
    members_[process->pid] = {process->start_ns, serial};
    ++now.living;
  }
  return &now;
}

/// Reports the finish of what is removed and has nobody in it any more, or has waited long enough.
void ContainersJoin::finish_removed(std::uint64_t now_ns, std::vector<Event>& events) {
  names_.retry();
  std::erase_if(removed_, [&](Serial serial) {
    Container* const container = find(serial);
    if (!container) return true;
    if (container->living != 0 && now_ns < container->finish.time_ns + kMostWaitNs) return false;
    take_names(serial, container->finish);
    events.emplace_back(std::move(container->finish));
    forget_container(serial, *container);
    containers_.erase(serial);
    return true;
  });
}

void ContainersJoin::add(const CgroupEndRecord& record, std::vector<Event>& events) {
  const auto found = cgroups_.find({std::string(hierarchy_name(record.hierarchy)), record.cgroup_id});
  if (found != cgroups_.end()) {
    const Serial serial = found->second;
    cgroups_.erase(found);
    Container& container = *containers_.find(serial);
    std::erase_if(container.topmost,
                  [&](const auto& each) { return in_cgroup(*each, record.hierarchy, record.cgroup_id); });
    // Peaks of several cgroups were not at the same time.
    container.finish.peak_bytes = std::exchange(container.lost_one, true) ? std::nullopt : record.peak_bytes;
    if (container.topmost.empty()) {
      container.finish.time_ns = record.time_ns;
      open_.erase(container.key);
      removed_.push_back(serial);
    }
  }
  finish_removed(record.time_ns, events);
}

void ContainersJoin::at_start(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                              std::vector<Event>& events) {
  finish_removed(time_ns, events);
  enter(time_ns, process, events);
}

void ContainersJoin::at_exec(const ExecRecord&, const std::shared_ptr<const Process>&, ProcessExec& exec,
                             std::vector<Event>& events) {
  finish_removed(exec.time_ns, events);
  enter(exec.time_ns, exec.process, events);
}

void ContainersJoin::at_exit(const ExitRecord&, ProcessExit& exit, std::vector<Event>& events) {
  if (Container* const container = enter(exit.time_ns, exit.process, events)) {
    ContainerFinish& finish = container->finish;
    finish.end_ns = std::max(finish.end_ns.value_or(0), exit.end_ns);
    ++finish.processes;
    if (!exit.oom_killed) finish.oom_kills.reset();
    if (finish.oom_kills) *finish.oom_kills += *exit.oom_killed ? 1 : 0;
    leave(exit.process->pid, exit.process->start_ns);
  }
  finish_removed(exit.time_ns, events);
}

void ContainersJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>&, std::vector<Event>& events) {
  finish_removed(time_ns + kMostWaitNs, events);
}

void ContainersJoin::forget(std::uint32_t pid, std::uint64_t start_ns) { leave(pid, start_ns); }

}  // namespace tracer::internal
