// SPDX-License-Identifier: Apache-2.0
#include "serve/ownership.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

namespace tracer::internal {
namespace {

/// More are forgotten: what they own is root's alone then.
constexpr std::size_t kMostRemembered = 1u << 18;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The user whose slice a cgroup is in: ".../user-1000.slice/...".
std::optional<uid_t> user_of_slice(std::string_view path) {
  constexpr std::string_view kUser = "/user-";
  constexpr std::string_view kSlice = ".slice";
  const std::size_t begin = path.find(kUser);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = path.substr(begin + kUser.size());
  rest = rest.substr(0, rest.find('/'));
  if (!rest.ends_with(kSlice)) return std::nullopt;
  return number<uid_t>(rest.substr(0, rest.size() - kSlice.size()));
}

constexpr Owner kRoots{Audience::kRoot, 0};
constexpr Owner kEverybodys{Audience::kEverybody, 0};

}  // namespace

std::vector<SubordinateIds> subordinate_ids(std::string_view text, uid_t (*uid_of)(std::string_view name)) {
  std::vector<SubordinateIds> ranges;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, first);
    const auto begin = number<uid_t>(line.substr(first + 1, second - first - 1));
    const auto count = number<std::uint64_t>(line.substr(second + 1));
    const uid_t owner = number<uid_t>(name).value_or(uid_of(name));
    if (begin && count && *begin != 0 && owner != static_cast<uid_t>(-1)) ranges.push_back({owner, *begin, *count});
  }
  return ranges;
}

Owner Ownership::owner_of_user(uid_t uid) const noexcept {
  if (uid == 0) return kRoots;
  const SubordinateIds* found = nullptr;
  for (const SubordinateIds& range : ranges_) {
    if (uid < range.first || uid - range.first >= range.count) continue;
    // Two users' ranges overlap: nobody knows whose it is.
    if (found != nullptr && found->owner != range.owner) return kRoots;
    found = &range;
  }
  if (found != nullptr) return {Audience::kOwner, found->owner};
  return {Audience::kOwner, uid};
}

Owner Ownership::owner_of(const Process& process) const {
  if (!process.uid) return kRoots;
  if (*process.uid != 0) return owner_of_user(*process.uid);
  const auto known = processes_.find({process.start_ns, process.pid});
  return known == processes_.end() || known->second == 0 ? kRoots : Owner{Audience::kOwner, known->second};
}

void Ownership::remember(const Process& process) {
  const Id id{process.start_ns, process.pid};
  if (process.uid && *process.uid != 0) {
    if (processes_.size() < kMostRemembered) processes_.insert_or_assign(id, owner_of_user(*process.uid).uid);
    return;
  }
  // What root runs belongs to whom it belonged before, such as sudo's.
  if (process.uid != 0u || processes_.contains(id) || !process.parent_pid || !process.parent_start_ns) return;
  const auto parent = processes_.find({*process.parent_start_ns, *process.parent_pid});
  if (parent != processes_.end() && processes_.size() < kMostRemembered) processes_.emplace(id, uid_t(parent->second));
}

void Ownership::meet(std::unordered_map<std::uint64_t, Owner>& owners, std::uint64_t key, const Owner& owner) {
  const auto [known, fresh] = owners.try_emplace(key, owner);
  // Processes of root are in many a user's task, such as the daemon's of a container.
  if (!fresh && known->second != owner && owner.audience == Audience::kOwner) {
    known->second = known->second.audience == Audience::kEverybody ? owner : kRoots;
  }
  if (owners.size() > kMostRemembered) owners.erase(owners.begin());
}

void Ownership::join(const Process& process, const Owner& owner) {
  if (process.cgroup->id) meet(cgroups_, *process.cgroup->id, owner);
  if (owner.audience != Audience::kOwner) return;
  if (process.context->task_key) meet(scopes_, static_cast<std::uint64_t>(*process.context->task_key), owner);
  if (process.context->run_key) meet(scopes_, static_cast<std::uint64_t>(*process.context->run_key), owner);
}

Owner Ownership::owner_of_task(const Context& context, std::uint32_t pid, std::uint64_t start_ns) const {
  for (const auto& key : {context.task_key, context.run_key}) {
    if (!key) continue;
    const auto known = scopes_.find(static_cast<std::uint64_t>(*key));
    if (known != scopes_.end()) return known->second;
    break;
  }
  if (!context.owner_uid) return kRoots;
  if (*context.owner_uid != 0) return owner_of_user(*context.owner_uid);
  const auto leader = processes_.find({start_ns, pid});
  return leader == processes_.end() || leader->second == 0 ? kRoots : Owner{Audience::kOwner, leader->second};
}

template <class E>
Owner Ownership::of(const E& event) {
  if constexpr (requires { event.process->uid; }) {
    const Process& process = *event.process;
    if constexpr (std::same_as<E, ProcessStart> || std::same_as<E, ProcessExec>) remember(process);
    const Owner owner = owner_of(process);
    if constexpr (std::same_as<E, ProcessStart> || std::same_as<E, ProcessExec> || std::same_as<E, ProcessSample>)
      join(process, owner);
    if constexpr (std::same_as<E, ProcessExit>) processes_.erase({process.start_ns, process.pid});
    return owner;
  } else if constexpr (std::same_as<E, TaskStart> || std::same_as<E, RunStart>) {
    return owner_of_task(*event.context, event.pid, event.start_ns);
  } else if constexpr (std::same_as<E, TaskFinish> || std::same_as<E, RunFinish>) {
    return owner_of_task(*event.context, event.pid, event.start_ns);
  } else if constexpr (std::same_as<E, ContextChange>) {
    const Owner before = owner_of_task(*event.before, event.pid.value_or(0), event.start_ns.value_or(0));
    const Owner after = owner_of_task(*event.after, event.pid.value_or(0), event.start_ns.value_or(0));
    if (*event.before == Context{} || before == after) return after;
    return kRoots;
  } else if constexpr (std::same_as<E, Finding>) {
    if (event.subject == "host") return kRoots;
    return owner_of_task(*event.context, event.pid.value_or(0), event.start_ns.value_or(0));
  } else if constexpr (std::same_as<E, ToolSample>) {
    return event.uid ? owner_of_user(*event.uid) : kRoots;
  } else if constexpr (std::same_as<E, CgroupSample>) {
    // What it says of the memory of a cgroup is no more than its processes are.
    if (event.cgroup->path)
      if (const auto uid = user_of_slice(*event.cgroup->path)) return owner_of_user(*uid);
    const auto known = event.cgroup->id ? cgroups_.find(*event.cgroup->id) : cgroups_.end();
    return known == cgroups_.end() || event.has_below ? kRoots : known->second;
  } else if constexpr (std::same_as<E, Loss> || std::same_as<E, SessionEnd> || std::same_as<E, SnapshotEnd>) {
    return kEverybodys;
  } else {
    static_assert(std::same_as<E, DeviceSample> || std::same_as<E, HostSample>, "decide whose a new kind is");
    return kRoots;
  }
}

Owner Ownership::owner_of(const Event& event) {
  Owner owner;
  visit([&](const auto& body) { owner = of(body); }, event);
  return owner;
}

}  // namespace tracer::internal
