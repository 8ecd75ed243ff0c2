// SPDX-License-Identifier: Apache-2.0
#include "context/announcements.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <msgpack.hpp>

#include "base/context_fields.hpp"
#include "context/layers.hpp"
#include "context/task_folder.hpp"

namespace tracer::internal {
namespace {

/// The fields of a packed announcement; those of Context follow by their place in kContextFields.
enum Packed : std::uint8_t {
  kAttempt,
  kLabel,
  kMillicpus,
  kMemory,
  kTime,
  kContainer,
  kTag,
  kOwner,
  kLabelsCutBytes,
  kFirstField
};

/// Calls take(number, value) for each field that was packed.
template <class Take>
void unpack(const std::string& packed, Take take) {
  std::size_t offset = 0;
  while (offset < packed.size()) {
    const auto number = msgpack::unpack(packed.data(), packed.size(), offset);
    const auto value = msgpack::unpack(packed.data(), packed.size(), offset);
    take(number.get().as<std::uint8_t>(), value.get());
  }
}

constexpr std::uint64_t kDropPeriodNs = 1'000'000'000;
constexpr std::uint64_t kLookAgainNs = 600ull * 1'000'000'000;

bool is_absolute_below_root(std::string_view path) { return path.size() > 1 && path.front() == '/'; }

}  // namespace

AnnouncementCost Announced::cost() const {
  // A pattern takes several times its text.
  constexpr std::size_t kPattern = 64;
  constexpr std::size_t kEntry = 256;
  AnnouncementCost cost{uid, key.size() * (argv ? kPattern : 1) + packed.size() + kEntry, {}};
  if (argv) cost.below = static_cast<std::uint32_t>(std::stoul(key.substr(1)));
  return cost;
}

std::string packed(const Context& context, const Requested& requested) {
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  const auto pack = [&](std::uint8_t number, const auto& value) {
    if (!value) return;
    packer.pack(number);
    packer.pack(*value);
  };
  pack(kAttempt, context.attempt);
  pack(kOwner, context.owner_uid);
  pack(kLabelsCutBytes, context.labels_cut_bytes);
  for (const Label& label : context.labels) {
    packer.pack(static_cast<std::uint8_t>(kLabel));
    packer.pack_array(2);
    packer.pack(label.name);
    packer.pack(label.value);
  }
  for (std::size_t i = 0; i < kContextFields.size(); ++i)
    pack(static_cast<std::uint8_t>(kFirstField + i), context.*kContextFields[i].value);
  pack(kMillicpus, requested.millicpus);
  pack(kMemory, requested.memory_bytes);
  pack(kTime, requested.time_ns);
  pack(kContainer, requested.container);
  pack(kTag, requested.tag);
  return {buffer.data(), buffer.size()};
}

Context Announcements::Known::context() const { return context_in(packed); }

Context context_in(const std::string& packed) {
  Context context;
  unpack(packed, [&](std::uint8_t number, const msgpack::object& value) {
    if (number == kAttempt) {
      say(context, "attempt", std::to_string(value.as<std::uint32_t>()), Provenance::kAnnounced);
    } else if (number == kOwner) {
      context.owner_uid = value.as<std::uint32_t>();
    } else if (number == kLabelsCutBytes) {
      context.labels_cut_bytes = value.as<std::uint32_t>();
    } else if (number == kLabel) {
      const auto label = value.as<std::vector<std::string>>();
      say_label(context, label.at(0), label.at(1), Provenance::kAnnounced);
    } else if (number >= kFirstField && number < kFirstField + kContextFields.size()) {
      say(context, kContextFields[number - kFirstField].name, value.as<std::string>(), Provenance::kAnnounced);
    }
  });
  return context;
}

Requested Announcements::Known::requested() const {
  Requested requested;
  unpack(packed, [&](std::uint8_t number, const msgpack::object& value) {
    if (number == kMillicpus) requested.millicpus = value.as<std::uint64_t>();
    if (number == kMemory) requested.memory_bytes = value.as<std::uint64_t>();
    if (number == kTime) requested.time_ns = value.as<std::uint64_t>();
    if (number == kContainer) requested.container = value.as<std::string>();
    if (number == kTag) requested.tag = value.as<std::string>();
  });
  return requested;
}

template <class Done>
void Announcements::drop_if(Done done) {
  for (auto each = known_.begin(); each != known_.end();) {
    if (!done(each->second)) {
      ++each;
      continue;
    }
    --count_of(each->first.front());
    shares_.give_back(each->second.cost);
    each = known_.erase(each);
  }
  for (auto each = below_.begin(); each != below_.end();) {
    if (!done(each->second.known)) {
      ++each;
      continue;
    }
    shares_.give_back(each->second.known.cost);
    each = below_.erase(each);
  }
}

/// Whose task is over: nobody joins it any more.
void Announcements::drop_done(std::uint64_t now_ns) {
  if (now_ns < next_drop_ns_) return;
  next_drop_ns_ = now_ns + kDropPeriodNs;
  const auto done = [](const Known& known) { return known.met && known.scope.expired(); };
  drop_if(done);
}

/// What is said again of the same scope. A folder or a pid may have changed hands meanwhile.
void Announcements::go_on(Known& known, const Known& before) {
  if (before.started_from_ns != known.started_from_ns) return;
  known.scope = before.scope;
  known.met = before.met;
  if (!known.folder) known.folder = before.folder;
}

bool Announcements::add(Announced announced, std::uint64_t now_ns) {
  if (size() >= capacity_) drop_done(now_ns);
  Known known;
  known.cost = announced.cost();
  known.packed = std::move(announced.packed);
  known.uid = announced.uid;
  known.folder = announced.folder;
  known.mount_namespace = announced.mount_namespace;
  known.started_from_ns = announced.started_from_ns;
  known.started_until_ns = announced.started_until_ns;
  known.expires_ns = now_ns + std::min(announced.expires_after_ns, ~std::uint64_t{0} - now_ns);
  next_expiry_ns_ = std::min(next_expiry_ns_, known.expires_ns);
  if (announced.argv) {
    const auto pid = static_cast<std::uint32_t>(std::stoul(announced.key.substr(1)));
    const auto [begin, end] = below_.equal_range(pid);
    const auto same = std::find_if(begin, end, [&](const auto& one) {
      return one.second.key == announced.key && one.second.known.uid == known.uid &&
             one.second.known.started_from_ns == known.started_from_ns;
    });
    if (same == end) {
      if (size() >= capacity_) return refuse(known);
      below_.emplace(pid, Below{std::move(*announced.argv), std::move(known), std::move(announced.key)});
    } else {
      go_on(known, same->second.known);
      shares_.give_back(same->second.known.cost);
      same->second.known = std::move(known);
    }
  } else {
    const auto [begin, end] = known_.equal_range(announced.key);
    const auto same = std::find_if(begin, end, [&](const auto& one) { return one.second.uid == known.uid; });
    if (same == end) {
      if (size() >= capacity_) return refuse(known);
      ++count_of(announced.key.front());
      known_.emplace(std::move(announced.key), std::move(known));
    } else {
      go_on(known, same->second);
      shares_.give_back(same->second.cost);
      same->second = std::move(known);
    }
  }
  ++epoch_;
  return true;
}

void Announcements::remove(const AnnouncementName& name) {
  const auto is_of_it = [&](const Known& known) {
    if (known.uid != name.uid) return false;
    const Context said = known.context();
    return said.run_id == name.task->run_id && said.task_id == name.task->task_id &&
           said.attempt.value_or(1) == name.task->attempt.value_or(1);
  };
  const auto [begin, end] = known_.equal_range(name.key);
  const auto known = std::find_if(begin, end, [&](const auto& one) { return is_of_it(one.second); });
  if (known != end) {
    --count_of(name.key.front());
    shares_.give_back(known->second.cost);
    known_.erase(known);
  }
  for (auto each = below_.begin(); each != below_.end();) {
    const bool is_it = each->second.key == name.key && is_of_it(each->second.known);
    if (is_it) shares_.give_back(each->second.known.cost);
    each = is_it ? below_.erase(each) : std::next(each);
  }
}

bool Announcements::refuse(const Known& known) {
  shares_.give_back(known.cost);
  return false;
}

/// Whoever is not root can't speak for others, by whatever path or number.
bool Announcements::may_speak_for(const Known& known, const Process& process) const noexcept {
  return known.uid == 0 || user_ids_.same(process.uid, known.uid);
}

namespace {

bool began_within(const Announcements::Known& known, const Process& process) noexcept {
  return process.start_ns >= known.started_from_ns && process.start_ns <= known.started_until_ns;
}

}  // namespace

void Announcements::meet(Known& known, std::string_view key, const Found& found) {
  if (!known.met) {
    known.met = true;
    met_.add(1);
  }
  found(known, key);
}

/// `folder`: to which the path leads that the key names; absent: not known, or it names none.
bool Announcements::is_about(Known& known, const Process& process, const std::optional<Folder>& folder) {
  if (!may_speak_for(known, process))
    return folder && known.folder && works_for(known.uid, *known.folder, process, *folder);
  if (!folder) return true;
  if (known.folder && contradict(*known.folder, *folder)) return false;
  // It was not there yet, or another one, when it was announced.
  if (known.mount_namespace != 0 && folder->mount_namespace == known.mount_namespace &&
      (known.uid == 0 || folder->owner == known.uid))
    known.folder = folder;
  return true;
}

void Announcements::found_in(const std::string& key, const Process& process, const std::optional<Folder>& folder,
                             const Found& found) {
  const auto [begin, end] = known_.equal_range(key);
  for (auto each = begin; each != end; ++each)
    if (began_within(each->second, process) && is_about(each->second, process, folder))
      meet(each->second, each->first, found);
}

/// Each folder on the way to `path`, and `path` itself, which leads to `folder`.
void Announcements::found_along(char kind, std::string_view path, const Process& process,
                                const std::optional<Folder>& folder, const Found& found) {
  if (!has(kind) || !is_absolute_below_root(path)) return;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    scratch_.assign(1, kind).append(path.substr(0, end));
    if (end == std::string_view::npos) return found_in(scratch_, process, folder, found);
    found_in(scratch_, process, {}, found);
  }
}

void Announcements::find(const Process& process, const std::optional<Folder>& folder, const std::vector<Label>& labels,
                         const Found& found) {
  if (known_.empty()) return;
  if (process.cgroup->path) found_along('c', *process.cgroup->path, process, {}, found);
  if (has('i') && process.cgroup->container_id) {
    const std::string& id = *process.cgroup->container_id;
    // By its whole id or a part of it.
    for (std::size_t size = 12; size <= id.size(); ++size) {
      found_in(scratch_.assign("i").append(id, 0, size), process, {}, found);
    }
  }
  if (has('l'))
    for (const Label& label : labels)
      found_in(scratch_.assign("l").append(label.name).append("=").append(label.value), process, {}, found);
  if (process.program->cwd) found_along('d', *process.program->cwd, process, folder, found);
  if (has('p')) found_in(scratch_.assign("p").append(std::to_string(process.pid)), process, {}, found);
}

std::size_t Announcements::find_below(const Process& ancestor, const Process& process, std::size_t most,
                                      const Found& found) {
  if (!process.program->argv) return 0;
  const auto [begin, end] = below_.equal_range(ancestor.pid);
  if (begin == end) return 0;
  // Both the patterns and the arguments are the user's, who may have made them take long.
  const uid_t user = user_ids_.user_of(process.uid.value_or(0)).value_or(Accounts::kUnknownUser);
  const auto now = PatternShares::Clock::now();
  auto before = cpu_time_of_this_thread();
  std::size_t compared = 0;
  for (auto each = begin; each != end && compared < most; ++each, ++compared) {
    const auto after = cpu_time_of_this_thread();
    pattern_shares_.charge(user, after - std::exchange(before, after), now);
    if (pattern_shares_.rests_until(user, now)) return compared;
    Below& below = each->second;
    Captures unused;
    if (began_within(below.known, ancestor) && may_speak_for(below.known, process) &&
        below.argv.matches(*process.program->argv, unused))
      meet(below.known, below.key, found);
  }
  pattern_shares_.charge(user, cpu_time_of_this_thread() - before, now);
  return compared;
}

void Announcements::ended(const Process& process) {
  if (!has('p')) return;
  const auto [begin, end] = known_.equal_range(scratch_.assign("p").append(std::to_string(process.pid)));
  for (auto each = begin; each != end;) {
    if (!began_within(each->second, process)) {
      ++each;
      continue;
    }
    --count_of('p');
    shares_.give_back(each->second.cost);
    each = known_.erase(each);
  }
}

void Announcements::expire(std::uint64_t now_ns) {
  if (shares_.take_crowded()) drop_done(now_ns);
  if (pattern_shares_.users() != 0) pattern_shares_.forget_idle(PatternShares::Clock::now());
  if (now_ns < next_expiry_ns_) return;
  next_expiry_ns_ = ~std::uint64_t{0};
  drop_if([&](Known& known) {
    // Others may still come to what lives.
    if (now_ns >= known.expires_ns && known.met && !known.scope.expired()) known.expires_ns = now_ns + kLookAgainNs;
    if (now_ns < known.expires_ns) {
      next_expiry_ns_ = std::min(next_expiry_ns_, known.expires_ns);
      return false;
    }
    if (!known.met) expired_.add(1);
    return true;
  });
}

}  // namespace tracer::internal
