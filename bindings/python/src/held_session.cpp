// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <pybind11/pybind11.h>

#include "session/session_access.hpp"
#include "gil.hpp"
#include "session.hpp"

namespace py = pybind11;

namespace tracer::python {

int copy_of(int file_descriptor) {
  const int copy = ::fcntl(file_descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error({ErrorCode::kNoMemory, errno, "can't copy a descriptor", "raise ulimit -n", {}});
  return copy;
}

namespace {

/// The first bytes of a recording that can be read, in memory; -1: it can't be read, or there is no memory.
int in_memory(int recording, std::uint64_t bytes) {
  const int file = ::memfd_create("tracer-recording", MFD_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 1u << 16> part;
  for (std::uint64_t at = 0; at < bytes;) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), bytes - at));
    const ssize_t got = ::pread(recording, part.data(), most, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || ::write(file, part.data(), static_cast<std::size_t>(got)) != got) {
      ::close(file);
      return -1;
    }
    at += static_cast<std::uint64_t>(got);
  }
  return file;
}

}  // namespace

HeldSession::Rescue::~Rescue() {
  if (const int fd = file.load(); fd >= 0) ::close(fd);
}

HeldSession::HeldSession(SessionOptions options) : HeldSession(std::make_shared<Session>(std::move(options))) {}

HeldSession::HeldSession(Source source, SessionOptions options)
    : HeldSession(std::make_shared<Session>(std::move(source), std::move(options))) {}

HeldSession::HeldSession(std::shared_ptr<Session> session)
    : held_(std::make_unique<Held>()),
      host_(session->host()),
      rule_problems_(session->rule_problems()),
      tier_(session->tier()),
      tier_problems_(session->tier_problems()) {
  held().session = std::move(session);
}

HeldSession::~HeldSession() {
  if (!open()) return;
  // Its thread may wait for the GIL, which comes no more: it ends with the process.
  if (is_finalizing()) {
    static_cast<void>(new std::shared_ptr<Session>(session()));
    return;
  }
  try {
    std::optional<ReleasedGil> released;
    if (PyGILState_Check() != 0) released.emplace();
    close(std::chrono::milliseconds(-1));
  } catch (...) {
    // In a callback of its own: it ends when that returns.
  }
}

std::shared_ptr<Session> HeldSession::session() const {
  Held& held = this->held();
  const std::lock_guard lock(held.mutex);
  if (!held.session) throw SessionGone(false);
  return held.session;
}

bool HeldSession::open() const noexcept {
  if (!held_ || held_.is_foreign()) return false;
  Held& held = this->held();
  const std::lock_guard lock(held.mutex);
  return held.session != nullptr;
}

void HeldSession::record(int file_descriptor, std::string name) {
  const auto session = this->session();
  const int file = copy_of(file_descriptor);
  OutputLimit limit;
  limit.rescue = [rescue = rescue_, file](std::uint64_t whole_bytes) {
    const int memory = in_memory(file, whole_bytes);
    if (memory < 0) return -1;
    rescue->file.store(copy_of(memory));
    return memory;
  };
  SinkHandle handle =
      session->add_sink(recording_sink(file, std::move(name), host_, std::move(limit)), {.when_full = when_full()});
  const std::lock_guard lock(held().mutex);
  held().recording.emplace(std::move(handle));
}

void HeldSession::start() {
  const auto session = this->session();
  {
    const std::lock_guard lock(held().mutex);
    held().started = std::chrono::steady_clock::now();
  }
  session->start();
  has_started_.store(true);
}

bool HeldSession::close(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kPause{200};
  if (!open()) return true;
  const auto session = this->session();
  // stop() alone would wait for a callback as long as it takes.
  if (timeout.count() >= 0 && has_started_.load() && !session->in_callback()) {
    session->request_stop();
    for (const auto until = Clock::now() + timeout; !session->finished(); std::this_thread::sleep_for(kPause))
      if (Clock::now() >= until) return false;
  }
  session->stop();
  // Asked for without the lock, for which threads with the GIL wait.
  SessionFigures at_end = figures_of(*session, held());
  const std::lock_guard lock(held().mutex);
  if (!held().session) return true;
  held().at_end = std::move(at_end);
  held().session.reset();
  return true;
}

bool HeldSession::in_callback() const noexcept {
  if (!open()) return false;
  const std::lock_guard lock(held().mutex);
  return held().session && held().session->in_callback();
}

bool HeldSession::flush(std::chrono::milliseconds timeout) {
  const auto session = this->session();
  std::optional<SinkHandle> recording;
  {
    const std::lock_guard lock(held().mutex);
    recording = held().recording;
  }
  const auto until = std::chrono::steady_clock::now() + timeout;
  if (!session->flush(timeout)) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return !recording || recording->flush(timeout.count() < 0 ? timeout : std::max(left, std::chrono::milliseconds(0)));
}

std::optional<Problem> HeldSession::recording_problem() const {
  if (held_.is_foreign()) return std::nullopt;
  const std::lock_guard lock(held().mutex);
  return held().recording ? held().recording->problem() : std::nullopt;
}

std::uint64_t HeldSession::recording_dropped() const {
  if (held_.is_foreign()) return 0;
  const std::lock_guard lock(held().mutex);
  return held().recording ? held().recording->dropped() : 0;
}

SessionFigures HeldSession::figures() const {
  Held& held = this->held();
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(held.mutex);
    if (!held.session) return held.at_end;
    session = held.session;
  }
  return figures_of(*session, held);
}

SessionFigures HeldSession::figures_of(const Session& session, const Held& held) {
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - held.started;
  return {.totals = session.totals(),
          .statistics = session.statistics(),
          .families = session.families(),
          .elapsed_ns = static_cast<std::uint64_t>(elapsed.count()),
          .tier = session.tier(),
          .start_cpu_ns = internal::SessionAccess::start_cpu_ns(session)};
}

}  // namespace tracer::python
