// SPDX-License-Identifier: Apache-2.0
#include "source/client/desk.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/held_commands.hpp"
#include "base/proc_stat.hpp"

namespace tracer::internal {
namespace {

/// 0: no such process lives.
std::uint64_t started_from(pid_t pid) {
  const auto stat = read_proc_stat(pid);
  return stat ? stat->started_from_ns : 0;
}

/// That is meant by its pid alone; 0: none.
pid_t named_process(const AnnouncementKey& key) {
  const OfProcess* process = std::get_if<OfProcess>(&key);
  if (const auto* below = std::get_if<BelowProcess>(&key)) process = &below->process;
  return process == nullptr || process->start_ns ? 0 : process->pid;
}

}  // namespace

ServiceDesk::ServiceDesk(std::filesystem::path socket, std::vector<Family> wanted)
    : socket_(std::move(socket)), wanted_(std::move(wanted)) {
  connect();
}

void ServiceDesk::connect() const {
  connection_.reset();
  ServiceConnection fresh(socket_);
  if (!fresh.shares_pids())
    throw Error({ErrorCode::kPidNamespace,
                 0,
                 fmt::format("the service at {} runs outside of this pid namespace: its pids mean other processes",
                             socket_.string()),
                 "ask outside of the container",
                 {}});
  HelloReply hello = hello_from(fresh.ask(HelloRequest()));
  const bool other = !hello_.session_id.empty() && hello.session_id != hello_.session_id;
  hello_ = std::move(hello);
  connection_.emplace(std::move(fresh));
  if (other) tell_again();
  // Labels end with their connection.
  for (auto& [serial, label] : labels_) {
    try {
      label.number = label_from(connection_->ask(LabelRequest{label.tid, label.context})).label;
    } catch (const Error&) {
      label.number = 0;
      if (!connection_->usable()) throw;
    }
  }
}

/// What no service knows that began since.
void ServiceDesk::tell_again() const {
  const auto tell = [this](const Request& request) {
    try {
      expect_ok(connection_->ask(request));
    } catch (const Error&) {
      // It names what is gone by now.
      if (!connection_->usable()) throw;
    }
  };
  for (const auto& [pid, tree] : trees_)
    if (tree.started_from_ns == started_from(pid))
      tell(AttachRequest{pid, tree.context, tree.as.command, tree.as.held && is_held_command(pid)});
  const auto now = Clock::now();
  std::erase_if(announced_, [now](const Announced& each) { return each.until <= now; });
  for (const Announced& each : announced_) {
    if (each.started_from_ns != 0 && each.started_from_ns != started_from(named_process(each.announcement.key)))
      continue;
    AnnounceRequest request{each.announcement};
    request.announcement.expires_after = std::chrono::ceil<std::chrono::milliseconds>(each.until - now);
    tell(request);
  }
}

void ServiceDesk::keep(const Announcement& announcement, std::uint64_t started_from_ns) {
  constexpr auto kLongest = std::chrono::hours(24 * 365);
  const auto now = Clock::now();
  Announced kept{announcement, now + std::min<Clock::duration>(announcement.expires_after, kLongest), started_from_ns};
  announced_.push_back(std::move(kept));
  if (announced_.size() <= kMostAnnouncements) return;
  std::erase_if(announced_, [now](const Announced& each) { return each.until <= now; });
  if (announced_.size() > kMostAnnouncements) announced_.pop_front();
}

template <class Take>
auto ServiceDesk::ask(const Request& request, Take take) const {
  const bool was_there = connection_ && connection_->usable();
  if (was_there) {
    try {
      return take(connection_->ask(request));
    } catch (const Error& error) {
      // It may be back: after a restart, or where it gave up on an idle client.
      if (connection_->usable() || error.error_number() == ETIMEDOUT) throw;
    }
  }
  connect();
  return take(connection_->ask(request));
}

HelloReply ServiceDesk::hello() const {
  const std::lock_guard lock(mutex_);
  return hello_;
}

void ServiceDesk::meet(const std::string& session_id) noexcept {
  const std::lock_guard lock(mutex_);
  if (hello_.session_id == session_id && connection_ && connection_->usable()) return;
  try {
    connect();
  } catch (const std::exception&) {
    // Whoever asks next hears of it.
  }
}

void ServiceDesk::track(pid_t pid, const Context& context, TrackAs as) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t started_from_ns = started_from(pid);
  attach({pid, context, as.command, as.held});
  trees_.insert_or_assign(pid, Tree{context, as, started_from_ns});
}

void ServiceDesk::attach(AttachRequest request) const {
  if (stream_ != 0) {
    request.stream = stream_;
    try {
      return static_cast<void>(ask(request, expect_ok));
    } catch (const Error& error) {
      // It was cut, and the service has forgotten it: the filter of the next one names this tree.
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      request.stream.reset();
    }
  }
  ask(request, expect_ok);
}

std::set<pid_t> ServiceDesk::tracked() const {
  const std::lock_guard lock(mutex_);
  std::set<pid_t> pids;
  for (const auto& [pid, tree] : trees_) pids.insert(pid);
  return pids;
}

void ServiceDesk::use_stream(std::uint64_t stream, const std::set<pid_t>& known) noexcept {
  const std::lock_guard lock(mutex_);
  stream_ = stream;
  if (stream == 0) return;
  for (const auto& [pid, tree] : trees_) {
    if (known.contains(pid)) continue;
    try {
      attach({pid, tree.context, tree.as.command, tree.as.held && is_held_command(pid)});
    } catch (const std::exception&) {
      // It has ended, or the service has.
    }
  }
}

void ServiceDesk::untrack() noexcept {
  const std::lock_guard lock(mutex_);
  try {
    for (const auto& [pid, tree] : std::exchange(trees_, {}))
      if (tree.context != Context{}) ask(AttachRequest{pid, {}}, [](std::string_view) {});
  } catch (const std::exception&) {
  }
}

void ServiceDesk::announce(const Announcement& announcement, const Caller&) {
  const std::lock_guard lock(mutex_);
  const pid_t named = named_process(announcement.key);
  const std::uint64_t started_from_ns = named == 0 ? 0 : started_from(named);
  ask(AnnounceRequest{announcement}, expect_ok);
  keep(announcement, started_from_ns);
}

Key ServiceDesk::submit(const Submission& submission) {
  const std::lock_guard lock(mutex_);
  return ask(SubmitRequest{submission}, submitted_from);
}

void ServiceDesk::withdraw(const Withdrawal& withdrawal) {
  const std::lock_guard lock(mutex_);
  ask(WithdrawRequest{withdrawal}, expect_ok);
}

std::uint64_t ServiceDesk::open_label(const Context& context, const Caller& caller) {
  const std::lock_guard lock(mutex_);
  const LabelReply reply = ask(LabelRequest{caller.tid, context}, label_from);
  labels_.emplace(++last_serial_, OpenLabel{reply.label, caller.tid, context});
  return last_serial_;
}

void ServiceDesk::close_label(std::uint64_t serial) noexcept {
  const std::lock_guard lock(mutex_);
  const auto label = labels_.find(serial);
  if (label == labels_.end()) return;
  const std::uint64_t number = label->second.number;
  labels_.erase(label);
  if (number == 0) return;
  try {
    // Of another connection, the number means nothing: its labels are over.
    if (connection_ && connection_->usable()) expect_ok(connection_->ask(EndLabelRequest{number}));
  } catch (const std::exception&) {
  }
}

void ServiceDesk::resume_label(std::uint64_t serial, const Caller& caller) noexcept {
  const std::lock_guard lock(mutex_);
  const auto label = labels_.find(serial);
  if (label == labels_.end()) return;
  label->second.tid = caller.tid;
  try {
    if (connection_ && connection_->usable() && label->second.number != 0) {
      expect_ok(connection_->ask(ResumeLabelRequest{label->second.number, caller.tid}));
    } else {
      connect();
    }
  } catch (const std::exception&) {
  }
}

void ServiceDesk::disown_thread(const Caller& caller) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    ask(UnlabelRequest{caller.tid}, expect_ok);
  } catch (const std::exception&) {
  }
}

void ServiceDesk::report_own_work(const Context& task, const OwnWork& work) {
  const std::lock_guard lock(mutex_);
  ask(OwnWorkRequest{task, work}, expect_ok);
}

std::vector<ProcessSample> ServiceDesk::living() const {
  const std::lock_guard lock(mutex_);
  return ask(SnapshotRequest(), snapshot_from).processes;
}

std::string ServiceDesk::state(const StateQuery& query) const {
  constexpr std::string_view kFirstVersion = "0.1.0";
  const std::lock_guard lock(mutex_);
  try {
    return ask(StateRequest{query}, state_from).state;
  } catch (const Error& error) {
    if (!is_unknown_request(error)) throw;
    throw Error({ErrorCode::kServiceRefused,
                 0,
                 fmt::format("the service at {}, of version {}, can't be asked for its state", socket_.string(),
                             hello_.tracer_version),
                 fmt::format("ask the administrator to restart it with the tracerd of {} or later", kFirstVersion),
                 {}});
  }
}

std::uint64_t ServiceDesk::flush(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  FlushRequest request;
  if (stream != 0) request.stream = stream;
  return ask(request, flush_from).sequence;
}

std::vector<FamilyState> ServiceDesk::families() const {
  const std::lock_guard lock(mutex_);
  std::vector<FamilyState> families = hello_.families;
  for (const Family family : wanted_) {
    const bool is_there = std::any_of(families.begin(), families.end(),
                                      [family](const FamilyState& each) { return each.family == family; });
    if (!is_there)
      families.push_back({family,
                          false,
                          {},
                          Problem{ErrorCode::kServiceRefused,
                                  0,
                                  fmt::format("the service at {} does not trace it", socket_.string()),
                                  "ask the administrator to add it to families in tracerd.toml",
                                  {}}});
  }
  return families;
}

}  // namespace tracer::internal
