// SPDX-License-Identifier: Apache-2.0
#include "serve/ownership.hpp"

#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/number.hpp"

namespace tracer::internal {
namespace {

/// More are not remembered: what they own is root's alone then.
constexpr std::size_t kMostRemembered = 1u << 18;
/// Of the newest, findings may come.
constexpr std::size_t kMostStrangers = 1u << 16;

/// The user whose slice a cgroup is in: ".../user-1000.slice/...".
std::optional<uid_t> user_of_slice(std::string_view path) {
  constexpr std::string_view kUser = "/user-";
  constexpr std::string_view kSlice = ".slice";
  const std::size_t begin = path.find(kUser);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = path.substr(begin + kUser.size());
  rest = rest.substr(0, rest.find('/'));
  if (!rest.ends_with(kSlice)) return std::nullopt;
  return parse_number<uid_t>(rest.substr(0, rest.size() - kSlice.size()));
}

constexpr Owner kRoots{Audience::kRoot, 0};
constexpr Owner kEverybodys{Audience::kEverybody, 0};

}  // namespace

Owner Ownership::owner_of_user(uid_t uid) const noexcept {
  if (uid == 0) return kRoots;
  const auto user = user_ids_.user_of(uid);
  // Two users' ranges overlap: nobody knows whose it is.
  return user ? Owner{Audience::kOwner, *user} : kRoots;
}

/// Of a process of root.
Owner Ownership::owner_of_roots(std::uint32_t pid, std::uint64_t start_ns) const {
  const auto known = processes_.find({start_ns, pid});
  return known == processes_.end() || !known->second.is_root ? kRoots : Owner{Audience::kOwner, known->second.owner};
}

Owner Ownership::owner_of(const Process& process) const {
  if (!process.uid) return kRoots;
  return *process.uid == 0 ? owner_of_roots(process.pid, process.start_ns) : owner_of_user(*process.uid);
}

Owner Ownership::owner_of_living(const Event& event) const {
  Owner owner = kRoots;
  visit(
      [&](const auto& body) {
        using E = std::remove_cvref_t<decltype(body)>;
        if constexpr (std::same_as<E, RunStart> || std::same_as<E, TaskStart>) {
          owner = owner_of_task(*body.context, body.pid, body.start_ns);
        } else if constexpr (std::same_as<E, TaskSubmit>) {
          if (body.context->owner_uid) owner = owner_of_user(*body.context->owner_uid);
        } else if constexpr (std::same_as<E, ProcessStart>) {
          owner = owner_of(*body.process);
        }
      },
      event);
  return owner;
}

bool Ownership::was_of(const Process& process, const Owner& owner) const {
  const auto known = processes_.find({process.start_ns, process.pid});
  return known != processes_.end() && owner.audience == Audience::kOwner && known->second.owner == owner.uid;
}

void Ownership::remember(const Process& process) {
  const ProcessId id{process.start_ns, process.pid};
  const auto known = processes_.find(id);
  if (known == processes_.end() && processes_.size() >= kMostRemembered) return;
  if (process.uid && *process.uid != 0) {
    const Owner owner = owner_of_user(*process.uid);
    if (owner.audience == Audience::kOwner) {
      Living& living = processes_[id];
      living.owner = owner.uid;
      living.is_root = false;
    } else if (known != processes_.end()) {
      leave_cgroup(known->second);
      processes_.erase(known);
    }
    return;
  }
  if (process.uid != 0u) return;
  // What root runs belongs to whom it belonged before, such as sudo's.
  if (known != processes_.end()) {
    known->second.is_root = true;
    return;
  }
  if (!process.parent_pid || !process.parent_start_ns) return;
  const auto parent = processes_.find({*process.parent_start_ns, *process.parent_pid});
  if (parent != processes_.end()) processes_.emplace(id, Living{parent->second.owner, true, {}});
}

bool Ownership::take_proof(const Process& process, std::uint64_t time_ns) {
  if (!proven_ || process.uid != 0u) return false;
  const auto user = proven_->take(process, time_ns);
  if (!user) return false;
  const Owner owner = owner_of_user(*user);
  // Who began it comes first.
  if (owner.audience != Audience::kOwner || processes_.size() >= kMostRemembered) return false;
  return processes_.try_emplace({process.start_ns, process.pid}, Living{owner.uid, true, {}}).second;
}

void Ownership::leave_cgroup(const Living& living) {
  if (!living.cgroup) return;
  const auto known = cgroups_.find(*living.cgroup);
  if (known != cgroups_.end() && known->second.living != 0) --known->second.living;
}

void Ownership::join(const Process& process, const Owner& owner) {
  const auto& cgroup = process.cgroup->id;
  if (!cgroup) return;
  const auto full = [this] { return cgroups_.size() >= kMostRemembered; };
  if (!cgroups_.contains(*cgroup) && full()) {
    // One that several users were in is root's for good.
    std::erase_if(cgroups_, [](const auto& one) { return one.second.living == 0 && one.second.owner != kRoots; });
    if (full()) return;
  }
  const auto [known, fresh] = cgroups_.try_emplace(*cgroup, CgroupOwner{owner});
  // Processes of root are in many a user's cgroup, such as the daemon's of a container.
  if (!fresh && known->second.owner != owner && owner.audience == Audience::kOwner) known->second.owner = kRoots;
  const auto living = processes_.find({process.start_ns, process.pid});
  if (living == processes_.end() || living->second.cgroup == cgroup) return;
  leave_cgroup(living->second);
  living->second.cgroup = cgroup;
  ++known->second.living;
}

Owner Ownership::owner_of_task(const Context& context, std::uint32_t pid, std::uint64_t start_ns) const {
  if (!context.owner_uid) return kRoots;
  return *context.owner_uid == 0 ? owner_of_roots(pid, start_ns) : owner_of_user(*context.owner_uid);
}

bool Ownership::owns(const Owner& owner, const Context& context, const std::optional<uid_t>& uid) const {
  if (!context.owner_uid || context.owner_uid == uid) return true;
  return *context.owner_uid != 0 && owner_of_user(*context.owner_uid) == owner;
}

void Ownership::note_stranger(const Process& process, const Owner& owner) {
  if (owns(owner, *process.context, process.uid)) return;
  const ProcessId id{process.start_ns, process.pid};
  if (!strangers_.insert(id).second) return;
  stranger_order_.push_back(id);
  if (stranger_order_.size() <= kMostStrangers) return;
  strangers_.erase(stranger_order_.front());
  stranger_order_.pop_front();
}

/// It must be remembered for as long as the run or task may finish.
void Ownership::leads(const Context& context, std::uint32_t pid, std::uint64_t start_ns) {
  if (context.owner_uid != 0u) return;
  const auto leader = processes_.find({start_ns, pid});
  if (leader != processes_.end()) ++leader->second.led;
}

void Ownership::finished(std::uint32_t pid, std::uint64_t start_ns) {
  const auto leader = processes_.find({start_ns, pid});
  if (leader == processes_.end() || leader->second.led == 0) return;
  if (--leader->second.led == 0 && leader->second.ended) processes_.erase(leader);
}

void Ownership::ended(const Process& process) {
  const auto known = processes_.find({process.start_ns, process.pid});
  if (known == processes_.end()) return;
  leave_cgroup(known->second);
  known->second.cgroup.reset();
  known->second.ended = true;
  if (known->second.led == 0) processes_.erase(known);
}

template <class E>
Owner Ownership::of(const E& event) {
  if constexpr (requires { event.process->uid; }) {
    const Process& process = *event.process;
    const bool is_proven = take_proof(process, event.time_ns);
    if constexpr (std::same_as<E, ProcessExec>)
      changed_user_ = is_proven || (process.uid && *process.uid != 0 && !was_of(process, owner_of_user(*process.uid)));
    if constexpr (std::same_as<E, ProcessStart> || std::same_as<E, ProcessExec>) remember(process);
    const Owner owner = owner_of(process);
    note_stranger(process, owner);
    if constexpr (std::same_as<E, ProcessStart> || std::same_as<E, ProcessExec> || std::same_as<E, ProcessSample>)
      join(process, owner);
    if constexpr (std::same_as<E, ProcessExit>) ended(process);
    return owner;
  } else if constexpr (std::same_as<E, TaskStart> || std::same_as<E, RunStart>) {
    leads(*event.context, event.pid, event.start_ns);
    return owner_of_task(*event.context, event.pid, event.start_ns);
  } else if constexpr (std::same_as<E, TaskFinish> || std::same_as<E, RunFinish>) {
    const Owner owner = owner_of_task(*event.context, event.pid, event.start_ns);
    finished(event.pid, event.start_ns);
    return owner;
  } else if constexpr (std::same_as<E, TaskSubmit>) {
    return event.context->owner_uid ? owner_of_user(*event.context->owner_uid) : kRoots;
  } else if constexpr (std::same_as<E, ContextChange>) {
    const Owner before = owner_of_task(*event.before, event.pid.value_or(0), event.start_ns.value_or(0));
    const Owner after = owner_of_task(*event.after, event.pid.value_or(0), event.start_ns.value_or(0));
    if (*event.before == Context{} || before == after) return after;
    return kRoots;
  } else if constexpr (std::same_as<E, Finding>) {
    if (event.subject == "host") return kRoots;
    // It says what that process is and did.
    if (event.pid && event.start_ns && strangers_.contains({*event.start_ns, *event.pid})) return kRoots;
    return owner_of_task(*event.context, event.pid.value_or(0), event.start_ns.value_or(0));
  } else if constexpr (std::same_as<E, ToolSample>) {
    return event.uid ? owner_of_user(*event.uid) : kRoots;
  } else if constexpr (std::same_as<E, CgroupSample>) {
    // What it says of the memory of a cgroup is no more than its processes are.
    if (event.cgroup->path)
      if (const auto uid = user_of_slice(*event.cgroup->path)) return owner_of_user(*uid);
    const auto known = event.cgroup->id ? cgroups_.find(*event.cgroup->id) : cgroups_.end();
    return known == cgroups_.end() || event.has_below ? kRoots : known->second.owner;
  } else if constexpr (std::same_as<E, Loss>) {
    return event.uid ? owner_of_user(*event.uid) : kEverybodys;
  } else if constexpr (std::same_as<E, SessionEnd> || std::same_as<E, SnapshotEnd>) {
    return kEverybodys;
  } else {
    static_assert(std::same_as<E, DeviceSample> || std::same_as<E, HostSample>, "decide whose a new kind is");
    return kRoots;
  }
}

Owner Ownership::owner_of(const Event& event) {
  changed_user_ = false;
  Owner owner;
  visit([&](const auto& body) { owner = of(body); }, event);
  return owner;
}

}  // namespace tracer::internal
