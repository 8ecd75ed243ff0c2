// SPDX-License-Identifier: Apache-2.0
#include "command_run.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace tracer::python {

namespace {

std::uint64_t boot_ns() noexcept {
  constexpr std::uint64_t kNsPerS = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerS + static_cast<std::uint64_t>(now.tv_nsec);
}

/// In the new process: as subprocess does it. Only what is async-signal-safe.
void prepare(const std::optional<std::string>& folder, const std::array<int, 3>& streams) noexcept {
  std::array<int, 3> moved{};
  // First out of the way: one may be where another belongs.
  for (std::size_t i = 0; i < streams.size(); ++i)
    moved[i] = streams[i] < 0 ? -1 : ::fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (moved[i] >= 0) ::dup2(moved[i], static_cast<int>(i));
  ::syscall(SYS_close_range, 3u, ~0u, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC));
  // Python ignores these, which a program does not expect.
  for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
  if (folder && ::chdir(folder->c_str()) != 0) ::_exit(126);
}

}  // namespace

CommandRun::CommandRun(CommandOptions options, std::optional<std::string> folder, std::array<int, 3> streams,
                       const HeldSession* session)
    : since_ns_(boot_ns()) {
  options.prepare = [folder = std::move(folder), streams] { prepare(folder, streams); };
  at_once_ = options.at_once = session != nullptr && !options.user;
  if (session != nullptr) subscribe(*session);
  command_ = OfProcess(std::make_unique<Command>(std::move(options)));
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid(), 0));
  if (session != nullptr) follow(false);
}

CommandRun::~CommandRun() {
  if (command_ && !command_.is_foreign()) end();
  if (pidfd_ >= 0) ::close(pidfd_);
}

void CommandRun::end() noexcept {
  try {
    // It only reports then whether it runs.
    if (at_once_) release();
    if (!running()) return;
    signal(SIGKILL);
    while (!wait(std::chrono::milliseconds(100))) continue;
  } catch (const Error&) {
    // It has not begun, or somebody else has waited for it.
  }
}

void CommandRun::Watch::add(const Event& event) {
  if (!tree) return early.push_back(event);
  if (!tree->takes(event)) return;
  summary.add(event);
  if (!tree->is_end(event)) return;
  ended = true;
  changed.notify_all();
}

void CommandRun::subscribe(const HeldSession& session) {
  const auto running = session.session();
  session_ = running;
  subscription_ = OfProcess(running->on_any([watch = watch_](const Event& event) {
    const std::lock_guard lock(watch->mutex);
    watch->add(event);
  }));
}

void CommandRun::follow(bool whole) {
  const std::lock_guard lock(watch_->mutex);
  watch_->tree.emplace(pid(), since_ns_, whole);
  for (const Event& event : std::exchange(watch_->early, {})) watch_->add(event);
}

void CommandRun::watch(const HeldSession& session, bool whole) {
  subscribe(session);
  follow(whole);
}

void CommandRun::release() {
  // What failed is said once.
  at_once_ = false;
  command_.get()->release();
  released_ = true;
}

bool CommandRun::look() {
  if (!end_) end_ = command_.get()->ended();
  if (end_ && !end_->wait_status)
    throw Error({ErrorCode::kInternal,
                 ECHILD,
                 "the status of process " + std::to_string(pid()) + " is lost: somebody else has waited for it",
                 "don't wait for all children, and don't ignore SIGCHLD, while a command runs",
                 {}});
  return end_.has_value();
}

bool CommandRun::wait(std::chrono::milliseconds timeout) {
  if (look()) return true;
  if (pidfd_ < 0) {
    ::poll(nullptr, 0, static_cast<int>(std::min(timeout, std::chrono::milliseconds(1)).count()));
  } else {
    pollfd ready{pidfd_, POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(timeout.count()));
  }
  return look();
}

bool CommandRun::settle(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  // The session's thread looks by itself some times a second only.
  constexpr std::chrono::microseconds kPause{200};
  constexpr std::chrono::seconds kLastSwitch{2};
  const auto until = Clock::now() + timeout;
  static_cast<void>(command_.get());
  const auto session = session_.lock();
  for (;;) {
    const bool delivered = !session || session->flush(timeout);
    const auto now = Clock::now();
    {
      std::unique_lock lock(watch_->mutex);
      if (watch_->changed.wait_for(lock, kPause, [this] { return watch_->ended; })) return true;
    }
    if (delivered && !delivered_) delivered_ = now;
    if (delivered_ && now - *delivered_ >= kLastSwitch) return true;
    if (now >= until) return false;
  }
}

bool CommandRun::settled() const {
  const std::lock_guard lock(watch_->mutex);
  return watch_->ended;
}

void CommandRun::unwatch() {
  if (subscription_) subscription_.get().cancel();
}

std::pair<Report, std::optional<Figure>> CommandRun::report(const HeldSession* session) const {
  SessionFigures figures;
  if (session != nullptr) figures = session->figures();
  const std::lock_guard lock(watch_->mutex);
  if (session == nullptr) {
    // The kernel has no sums of one command; where no event of it was lost, these are all.
    figures.tier = Tier::kService;
    figures.totals.emplace_back().ended = watch_->summary.exits();
  }
  const SummaryRow total = watch_->summary.total();
  std::optional<Figure> largest;
  if (total.peak_rss_bytes)
    largest = Figure{*total.peak_rss_bytes, total.unknown_peaks == 0 ? Bound::kExact : Bound::kAtLeast};
  return {make_report(watch_->summary, figures), largest};
}

}  // namespace tracer::python
