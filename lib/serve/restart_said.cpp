// SPDX-License-Identifier: Apache-2.0
#include "serve/restart_said.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

#include "base/context_key.hpp"
#include "base/clock.hpp"
#include "base/fair_room.hpp"
#include "base/number.hpp"
#include "base/proc_stat.hpp"
#include "base/read_at.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {
namespace {

UniqueFd memory_for_lines() {
  UniqueFd memory(::memfd_create("tracer-said", MFD_CLOEXEC));
  if (!memory) throw Error({ErrorCode::kNoMemory, errno, "can't make memory that outlives the service", {}, {}});
  return memory;
}

/// From that place on.
std::string text_in(int memory, std::size_t from) {
  struct stat status {};
  std::string text;
  if (::fstat(memory, &status) != 0 || static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) <= from)
    return text;
  text.resize(std::min(static_cast<std::size_t>(status.st_size) - from, 2 * Said::kMostBytes));
  text.resize(read_at(memory, std::as_writable_bytes(std::span(text)), static_cast<off_t>(from)));
  return text;
}

template <class Number>
std::optional<Number> word_as(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return parse_number<Number>(word);
}

std::optional<Key> word_as_key(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return key_from(word);
}

/// A process that began later has only got the pid of the one that was meant.
bool lives_since(pid_t pid, std::uint64_t said_ns) {
  const auto stat = read_proc_stat(pid);
  return stat && stat->started_from_ns <= said_ns;
}

const OfProcess* process_in(const AnnouncementKey& key) {
  if (const auto* process = std::get_if<OfProcess>(&key)) return process;
  if (const auto* below = std::get_if<BelowProcess>(&key)) return &below->process;
  return nullptr;
}

/// Absent: it does not hold any more, or makes no sense.
std::optional<Said::Announced> announced_in(std::string_view line) {
  const auto uid = word_as<uid_t>(line);
  const auto pid = word_as<pid_t>(line);
  const auto said_ns = word_as<std::uint64_t>(line);
  const auto until_ns = word_as<std::uint64_t>(line);
  if (!uid || !pid || !said_ns || !until_ns) return std::nullopt;
  const std::uint64_t now_ns = boot_time_ns();
  if (*until_ns <= now_ns) return std::nullopt;
  const Request request = request_from(line);
  const auto* announce = std::get_if<AnnounceRequest>(&request);
  if (announce == nullptr) return std::nullopt;
  Said::Announced announced{announce->announcement, {*pid, *pid, *uid}};
  const OfProcess* const process = process_in(announced.announcement.key);
  if (process != nullptr && !process->start_ns && !lives_since(process->pid, *said_ns)) return std::nullopt;
  announced.announcement.expires_after =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(*until_ns - now_ns));
  return announced;
}

/// What holds of a submission, as lines.
struct SubmittedLines {
  std::string_view said;
  std::string_view withdrawn = {};
  std::string_view told = {};
  std::vector<std::string_view> announced = {};
};

/// Absent: it makes no sense.
std::optional<Said::Submitted> submitted_in(const SubmittedLines& lines) {
  std::string_view said = lines.said.substr(2);
  word_as_key(said);
  const auto uid = word_as<uid_t>(said);
  auto submitted_ns = word_as<std::uint64_t>(said);
  const auto until_ns = word_as<std::uint64_t>(said);
  const Request request = request_from(said);
  const auto* submit = std::get_if<SubmitRequest>(&request);
  if (!uid || !submitted_ns || !until_ns || submit == nullptr) return std::nullopt;
  Said::Submitted submitted{submit->submission, {0, 0, *uid}, {}};
  if (!lines.told.empty()) {
    std::string_view told = lines.told.substr(2);
    word_as_key(told);
    const auto state = ToldOfSubmitted::state_from(told.substr(0, told.find(' ')));
    told.remove_prefix(std::min(told.size(), told.find(' ')) + 1);
    const auto time_ns = word_as<std::uint64_t>(told);
    const auto first_ns = word_as<std::uint64_t>(told);
    if (!state || !time_ns || !first_ns) return std::nullopt;
    submitted.earlier.told = {*state, *time_ns};
    submitted_ns = first_ns;
  }
  submitted.earlier.submitted_ns = *submitted_ns;
  const std::uint64_t holds_ns = *until_ns - std::min(*until_ns, *submitted_ns);
  submitted.submission.expires_after = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(holds_ns));
  if (lines.withdrawn.empty()) return submitted;
  std::string_view withdrawn = lines.withdrawn.substr(2);
  word_as_key(withdrawn);
  word_as<uid_t>(withdrawn);
  const Request end = request_from(withdrawn);
  if (const auto* withdraw = std::get_if<WithdrawRequest>(&end)) submitted.withdrawal = withdraw->withdrawal;
  return submitted;
}

/// Absent: it makes no sense.
std::optional<Context> context_in(std::string_view line) {
  line.remove_prefix(2);
  const auto number = word_as<std::uint32_t>(line);
  const auto owner = word_as<std::int64_t>(line);
  if (!number || !owner) return std::nullopt;
  const Request request = request_from(line);
  const auto* label = std::get_if<LabelRequest>(&request);
  if (label == nullptr) return std::nullopt;
  Context context = label->context;
  if (*owner >= 0) context.owner_uid = static_cast<std::uint32_t>(*owner);
  return context;
}

/// What holds of what was said, as lines: only their first words are read.
struct Live {
  struct Line {
    uid_t user = 0;
    std::string_view text;
  };
  std::map<std::uint32_t, Line> contexts;
  std::vector<Line> announcements;
  std::map<pid_t, Line> commands;
  struct Submitted {
    uid_t user = 0;
    uid_t uid = 0;
    SubmittedLines lines;
  };
  std::map<Key, Submitted> submitted;

  void take_of_submitted(char kind, std::string_view line, std::string_view whole, const Accounts& accounts) {
    const auto key = word_as_key(line);
    if (!key) return;
    const auto known = submitted.find(*key);
    if (kind == 's') {
      const auto uid = word_as<uid_t>(line);
      if (!uid) return;
      Submitted& each = submitted[*key];
      each.user = accounts.user_of(*uid);
      each.uid = *uid;
      each.lines.said = whole;
    } else if (known == submitted.end()) {
      return;
    } else if (kind == 'w') {
      if (word_as<uid_t>(line) == known->second.uid) known->second.lines.withdrawn = whole;
    } else if (kind == 'b') {
      known->second.lines.announced.push_back(whole);
    } else if (ToldOfSubmitted::state_from(line.substr(0, line.find(' ')))) {
      known->second.lines.told = whole;
    } else {
      submitted.erase(known);
    }
  }

  void take(std::string_view line, const Accounts& accounts, std::uint64_t now_ns) {
    const Line whole{0, line};
    const char kind = line.empty() ? '\0' : line.front();
    line.remove_prefix(std::min<std::size_t>(line.size(), 2));
    if (kind == 'a') {
      const auto uid = word_as<uid_t>(line);
      const auto pid = word_as<pid_t>(line);
      const auto said_ns = word_as<std::uint64_t>(line);
      const auto until_ns = word_as<std::uint64_t>(line);
      if (uid && pid && said_ns && until_ns && *until_ns > now_ns)
        announcements.push_back({accounts.user_of(*uid), whole.text});
    } else if (kind == 'f') {
      if (const auto number = word_as<std::uint32_t>(line)) contexts.erase(*number);
    } else if (kind == 'c') {
      const auto number = word_as<std::uint32_t>(line);
      const auto owner = word_as<std::int64_t>(line);
      if (!number || !owner) return;
      const auto uid = *owner < 0 ? std::optional<uid_t>() : static_cast<uid_t>(*owner);
      contexts.insert_or_assign(*number, Line{accounts.user_of(uid), whole.text});
    } else if (kind == 't') {
      const auto pid = word_as<pid_t>(line);
      const auto said_ns = word_as<std::uint64_t>(line);
      if (pid && said_ns && lives_since(*pid, *said_ns)) commands.insert_or_assign(*pid, whole);
    } else if (kind == 's' || kind == 'w' || kind == 'b' || kind == 'd') {
      take_of_submitted(kind, line, whole.text, accounts);
    }
  }
  /// Each whole line of a text that outlives this; the last one may be cut. Returns how many bytes these are.
  std::size_t take_all(std::string_view text, const Accounts& accounts) {
    const std::uint64_t now_ns = boot_time_ns();
    std::size_t at = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', at)) {
      take(text.substr(at, end - at), accounts, now_ns);
      at = end + 1;
    }
    return at;
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [number, line] : contexts) visit(line);
    for (const auto& [pid, line] : commands) visit(line);
    for (const Line& line : announcements) visit(line);
    for (const auto& [key, each] : submitted)
      each_of(each, [&](std::string_view line) { visit(Line{each.user, line}); });
  }
  /// In their order.
  template <class Visit>
  static void each_of(const Submitted& submitted, const Visit& visit) {
    const SubmittedLines& lines = submitted.lines;
    visit(lines.said);
    if (!lines.told.empty()) visit(lines.told);
    for (const std::string_view line : lines.announced) visit(line);
    if (!lines.withdrawn.empty()) visit(lines.withdrawn);
  }
};

}  // namespace

struct Said::State {
  State(UniqueFd where, std::shared_ptr<Accounts> charged) : memory(std::move(where)), accounts(std::move(charged)) {
    const std::string text = text_in(memory.get(), 0);
    Live live;
    used = live.take_all(text, *accounts);
    count_anew(live);
  }
  ~State() { release(); }

  void release() noexcept {
    for (const auto& [user, bytes] : held) accounts->release(user, bytes);
    held.clear();
    numbers.clear();
    submitted.clear();
  }
  void charge(uid_t user, std::size_t bytes) {
    room->hold(user, bytes);
    held[user] += bytes;
    accounts->hold(user, bytes);
  }
  void count_anew(const Live& live) {
    release();
    room.emplace(kMostBytes);
    live.each([this](const Live::Line& line) { charge(line.user, line.text.size() + 1); });
    for (const auto& [number, line] : live.contexts) numbers[number] = {line.user, line.text.size() + 1};
    for (const auto& [key, each] : live.submitted) {
      std::size_t bytes = 0;
      Live::each_of(each, [&bytes](std::string_view line) { bytes += line.size() + 1; });
      submitted[key] = {each.user, bytes};
    }
    const std::size_t all = room->all();
    least_to_move = std::max<std::size_t>(1u << 20, 2 * all);
  }
  /// False: it found no room.
  bool append(std::string_view line, uid_t user) {
    if (!room->has(user, line.size()) || used + line.size() > 2 * kMostBytes) {
      accounts->note_lost(user, kFull);
      return false;
    }
    if (::pwrite(memory.get(), line.data(), line.size(), static_cast<off_t>(used)) != static_cast<ssize_t>(line.size()))
      return false;
    used += line.size();
    charge(user, line.size());
    return true;
  }
  using Held = std::pair<uid_t, std::size_t>;
  template <class Name>
  void forget(std::map<Name, Held>& lines, Name name) noexcept {
    const auto known = lines.find(name);
    if (known == lines.end()) return;
    const auto [user, bytes] = known->second;
    lines.erase(known);
    room->give_back(user, bytes);
    accounts->release(user, bytes);
    if ((held[user] -= bytes) == 0) held.erase(user);
  }
  void move();

  std::mutex mutex;
  UniqueFd memory;
  const std::shared_ptr<Accounts> accounts;
  std::optional<FairRoom> room;
  std::map<uid_t, std::size_t> held;      ///< What is charged to `accounts`.
  std::map<std::uint32_t, Held> numbers;  ///< Users and bytes of their lines.
  std::map<Key, Held> submitted;          ///< Likewise.
  std::size_t used = 0;
  std::size_t least_to_move = 0;
  bool moves = false;
  std::uint64_t next_move_ns = 0;
  std::mutex report_mutex;  ///< Guards `moved`.
  std::function<void(int memory)> moved;
};

/// Moves what holds into new memory: what is said meanwhile follows behind it.
void Said::State::move() {
  std::size_t before = 0;
  {
    const std::lock_guard lock(mutex);
    before = used;
  }
  // Nobody else replaces the memory.
  std::string text = text_in(memory.get(), 0);
  text.resize(std::min(text.size(), before));
  Live live;
  live.take_all(text, *accounts);
  std::string kept;
  live.each([&kept](const Live::Line& line) { kept.append(line.text).push_back('\n'); });
  UniqueFd there = memory_for_lines();
  const auto write = [&there](std::string_view bytes, std::size_t at) {
    return ::pwrite(there.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(bytes.size());
  };
  if (!write(kept, 0)) return;
  const std::size_t kept_bytes = kept.size();
  std::string().swap(kept);
  {
    const std::lock_guard lock(mutex);
    const std::string rest = text_in(memory.get(), before).substr(0, used - before);
    if (!write(rest, kept_bytes)) return;
    live.take_all(rest, *accounts);
    memory = std::move(there);
    used = kept_bytes + rest.size();
    count_anew(live);
  }
  const std::lock_guard reporting(report_mutex);
  if (moved) moved(memory.get());
}

Said::Said(std::shared_ptr<Accounts> accounts) : Said(memory_for_lines(), std::move(accounts)) {}

Said::Said(UniqueFd memory, std::shared_ptr<Accounts> accounts)
    : state_(std::make_shared<State>(std::move(memory), std::move(accounts))) {}

/// Who is told of moves may end with this.
Said::~Said() { when_moved({}); }

int Said::memory() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->memory.get();
}

void Said::when_moved(std::function<void(int memory)> moved) {
  const std::lock_guard lock(state_->report_mutex);
  state_->moved = std::move(moved);
}

Said::Left Said::read(int memory) {
  const std::string text = text_in(memory, 0);
  Live live;
  live.take_all(text, Accounts());
  Left left;
  const auto add = [](const auto& take) {
    try {
      take();
    } catch (const Error&) {
      // It makes no sense to this version.
    }
  };
  for (const auto& [number, line] : live.contexts)
    add([&] {
      if (auto context = context_in(line.text)) left.contexts.emplace(number, std::move(*context));
    });
  for (const Live::Line& line : live.announcements)
    add([&] {
      if (auto announced = announced_in(line.text.substr(2))) left.announcements.push_back(std::move(*announced));
    });
  for (const auto& [pid, line] : live.commands) left.commands.push_back(pid);
  for (const auto& [key, each] : live.submitted) {
    add([&] {
      if (auto submitted = submitted_in(each.lines)) left.submitted.push_back(std::move(*submitted));
    });
    for (std::string_view line : each.lines.announced)
      add([&] {
        line.remove_prefix(2);
        word_as_key(line);
        if (auto announced = announced_in(line)) left.announcements.push_back(std::move(*announced));
      });
  }
  return left;
}

void Said::numbered(std::uint32_t number, const Context* context) noexcept try {
  std::string line = fmt::format("f {}\n", number);
  if (context != nullptr) {
    const std::int64_t owner = context->owner_uid ? static_cast<std::int64_t>(*context->owner_uid) : -1;
    line = fmt::format("c {} {} {}", number, owner, to_line(LabelRequest{0, *context}));
  }
  const std::lock_guard lock(state_->mutex);
  const bool was_kept = state_->numbers.contains(number);
  state_->forget(state_->numbers, number);
  if (context == nullptr) {
    // It frees more than it takes.
    if (was_kept) append(line, 0);
    return;
  }
  const uid_t user = state_->accounts->user_of(context->owner_uid);
  if (append(line, user)) state_->numbers[number] = {user, line.size()};
} catch (...) {
  // Out of memory: the labels end with the service.
}

void Said::announced(const Announcement& announcement, const Caller& caller, std::optional<Key> task) noexcept try {
  const std::uint64_t now_ns = boot_time_ns();
  const auto expires_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(announcement.expires_after).count());
  const std::string line = fmt::format("{} {} {} {} {}", caller.uid, caller.pid, now_ns, now_ns + expires_ns,
                                       to_line(AnnounceRequest{announcement}));
  const std::lock_guard lock(state_->mutex);
  if (!task || !append_of(*task, fmt::format("b {} {}", to_string(*task), line)))
    append("a " + line, state_->accounts->user_of(caller.uid));
} catch (...) {
  // Likewise.
}

void Said::submitted(Key key, const Submission& submission, const Caller& caller) noexcept try {
  const std::uint64_t now_ns = boot_time_ns();
  const auto expires_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(submission.expires_after).count());
  const std::string line = fmt::format("s {} {} {} {} {}", to_string(key), caller.uid, now_ns, now_ns + expires_ns,
                                       to_line(SubmitRequest{submission}));
  const std::lock_guard lock(state_->mutex);
  if (append_of(key, line)) return;
  const uid_t user = state_->accounts->user_of(caller.uid);
  if (append(line, user)) state_->submitted[key] = {user, line.size()};
} catch (...) {
  // Likewise.
}

void Said::withdrawn(const Withdrawal& withdrawal, const Caller& caller) noexcept try {
  const std::string line =
      fmt::format("w {} {} {}", to_string(withdrawal.key), caller.uid, to_line(WithdrawRequest{withdrawal}));
  const std::lock_guard lock(state_->mutex);
  // Another's changes nothing.
  const auto known = state_->submitted.find(withdrawal.key);
  if (known != state_->submitted.end() && known->second.first == state_->accounts->user_of(caller.uid))
    append_of(withdrawal.key, line);
} catch (...) {
  // Likewise.
}

void Said::told(const TaskSubmit& submit) noexcept try {
  const auto& key = innermost_key(*submit.context);
  if (!key) return;
  const std::string line =
      fmt::format("d {} {} {} {}\n", to_string(*key), submit.state, submit.time_ns, submit.submitted_ns);
  const std::lock_guard lock(state_->mutex);
  if (ToldOfSubmitted::state_from(submit.state)) {
    append_of(*key, line);
  } else if (state_->submitted.contains(*key)) {
    state_->forget(state_->submitted, *key);
    append(line, 0);
  }
} catch (...) {
  // Likewise.
}

/// With the lock held. False: it was not submitted.
bool Said::append_of(Key key, std::string_view line) {
  const auto known = state_->submitted.find(key);
  if (known == state_->submitted.end()) return false;
  if (append(line, known->second.first)) known->second.second += line.size();
  return true;
}

void Said::command(pid_t pid) noexcept try {
  const std::string line = fmt::format("t {} {}\n", pid, boot_time_ns());
  const std::lock_guard lock(state_->mutex);
  append(line, 0);
} catch (...) {
  // Likewise.
}

/// With the lock held. False: it is not kept.
bool Said::append(std::string_view line, uid_t user) {
  constexpr std::uint64_t kLeastBetweenMoves_ns = 1'000'000'000;
  const bool is_kept = state_->append(line, user);
  const std::uint64_t now_ns = boot_time_ns();
  if ((!is_kept || state_->used > state_->least_to_move) && !state_->moves && now_ns >= state_->next_move_ns) {
    state_->moves = true;
    state_->next_move_ns = now_ns + kLeastBetweenMoves_ns;
    mover_.add([state = state_] {
      try {
        state->move();
      } catch (...) {
        // It stays where it is.
      }
      const std::lock_guard lock(state->mutex);
      state->moves = false;
    });
  }
  return is_kept;
}

}  // namespace tracer::internal
