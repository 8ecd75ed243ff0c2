// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include <pybind11/pybind11.h>

#include "gil.hpp"
#include "session.hpp"

namespace py = pybind11;

namespace tracer::python {

int copy_of(int file_descriptor) {
  const int copy = ::fcntl(file_descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error({ErrorCode::kNoMemory, errno, "can't copy a descriptor", "raise ulimit -n", {}});
  return copy;
}

HeldSession::HeldSession(SessionOptions options) : HeldSession(std::make_shared<Session>(std::move(options)), true) {}

HeldSession::HeldSession(Source source, SessionOptions options)
    : HeldSession(std::make_shared<Session>(std::move(source), std::move(options)), false) {}

HeldSession::HeldSession(std::shared_ptr<Session> session, bool from_kernel)
    : held_(std::make_unique<Held>()),
      host_(session->host()),
      rule_problems_(session->rule_problems()),
      from_kernel_(from_kernel) {
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
  SinkHandle handle =
      session->add_sink(recording_sink(copy_of(file_descriptor), std::move(name), host_), {.when_full = when_full()});
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
  SessionState at_end = state_of(*session, held());
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

SessionState HeldSession::state() const {
  Held& held = this->held();
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(held.mutex);
    if (!held.session) return held.at_end;
    session = held.session;
  }
  return state_of(*session, held);
}

SessionState HeldSession::state_of(const Session& session, const Held& held) {
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - held.started;
  return {session.statistics(), session.totals(), session.families(), static_cast<std::uint64_t>(elapsed.count())};
}

}  // namespace tracer::python
