// SPDX-License-Identifier: Apache-2.0
/// A recording of events that a caller has, and the machine that they come from.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <span>

#include <tracer/sink.hpp>

#include "event_handle.hpp"
#include "host_fields.hpp"
#include "list_handle.hpp"

using namespace tracer;
using namespace tracer::c;

namespace tracer::c {

int copy_of(int fd, ErrorCode code) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error({code, errno, "can't use the descriptor " + std::to_string(fd), "pass an open one", {}});
  return copy;
}

std::string path_of(tracer_string path) {
  std::string text = text_or_empty(path, "path");
  if (text.empty()) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "path is empty"};
  return text;
}

}  // namespace tracer::c

namespace {

/// A pipe that nobody reads any more is a problem of the writer, as it is of a sink, and not the end of the caller.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending{};
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const int error_number = errno;
    const timespec at_once{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_number;
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

HostInfo host_or_this(const tracer_host* host) { return host == nullptr ? this_host() : host_of(host); }

}  // namespace

struct tracer_writer {
  explicit tracer_writer(std::unique_ptr<Sink> made) : sink(std::move(made)) {}
  ~tracer_writer() {
    const NoPipeSignal guard;
    sink.reset();
  }
  tracer_writer(const tracer_writer&) = delete;
  tracer_writer& operator=(const tracer_writer&) = delete;

  /// Throws Refusal, and Error with what has stopped it.
  template <class Step>
  void take(Step&& step) {
    if (!sink) throw Refusal{TRACER_ENDED, "the writer was closed before"};
    const NoPipeSignal guard;
    step(*sink);
    if (const auto problem = sink->problem()) throw Error(*problem);
  }

  Owner owner = {};
  std::unique_ptr<Sink> sink;  ///< Null: it was closed.
};

tracer_status tracer_writer_new(tracer_string path, const tracer_host* host, tracer_writer** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    return std::make_unique<tracer_writer>(recording_sink(std::filesystem::path(path_of(path)), host_or_this(host)))
        .release();
  });
}

tracer_status tracer_writer_new_fd(int fd, tracer_string name, const tracer_host* host, tracer_writer** out,
                                   tracer_error* error) {
  return guard_make(out, error, [&] {
    std::string shown = text_or_empty(name, "name");
    const HostInfo from = host_or_this(host);
    return std::make_unique<tracer_writer>(
               recording_sink(copy_of(fd, ErrorCode::kFileUnwritable), std::move(shown), from))
        .release();
  });
}

tracer_status tracer_writer_write(tracer_writer* writer, const tracer_event* event, tracer_error* error) {
  return guard(error, [&] {
    tracer_writer& own = need_own(writer, "writer");
    const Event& one = event_of(need(event, "event"));
    if (one.kind() == EventKind::kNone) throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, "the event has no kind"};
    own.take([&](Sink& sink) { sink.write(std::span(&one, 1)); });
  });
}

tracer_status tracer_writer_flush(tracer_writer* writer, tracer_error* error) {
  return guard(error, [&] { need_own(writer, "writer").take([](Sink& sink) { sink.flush(); }); });
}

tracer_status tracer_writer_close(tracer_writer* writer, tracer_error* error) {
  return guard(error, [&] {
    tracer_writer& own = need_own(writer, "writer");
    own.take([](Sink& sink) { sink.flush(); });
    own.sink.reset();
  });
}

void tracer_writer_free(tracer_writer* writer) { free_own(writer); }

tracer_status tracer_host_get(tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{std::vector<HostInfo>{this_host()}}; });
}

tracer_status tracer_host_to_json(const tracer_host* host, tracer_text** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_text{to_json(host_of(host))}; });
}
