// SPDX-License-Identifier: Apache-2.0
#include "source/client/stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "source/client/connection.hpp"

namespace tracer::internal {

ServiceStream::ServiceStream(std::filesystem::path socket)
    : socket_(std::move(socket)), buffer_(kReadBytes), fd_(connect_to_service(socket_)) {}

void ServiceStream::open(Filter filter, std::optional<Resume> resume) {
  if (is_open() || !fd_) {
    close();
    fd_ = connect_to_service(socket_);
  }
  filter_ = std::move(filter);
  resume_ = std::move(resume);
  lines_ = LineSplitter();
  reader_ = {};
  rows_ = {};
  counted_ = frame_events_ = 0;
  living_left_ = 0;
  phase_ = Phase::kHello;
  until_ = Clock::now() + kLongestAnswer;
  send(HelloRequest());
}

void ServiceStream::close() noexcept {
  // A child made by fork may still have it.
  if (fd_) ::shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
  phase_ = Phase::kClosed;
}

/// A new connection has room for a line.
void ServiceStream::send(const Request& request) {
  const std::string line = to_line(request);
  const ssize_t sent = ::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) {
    const int error_number = sent < 0 ? errno : 0;
    close();
    refuse_silent(socket_, "has closed the connection", error_number);
  }
}

ServiceStream::Step ServiceStream::next(Event& event) {
  switch (phase_) {
    case Phase::kClosed: return Step::kNothing;
    case Phase::kHello:
    case Phase::kSubscribe: return greet();
    case Phase::kHeader: return take_header();
    case Phase::kStream: return take_event(event);
  }
  return Step::kNothing;
}

ServiceStream::Step ServiceStream::greet() {
  for (;;) {
    if (const auto line = lines_.next()) {
      try {
        take_reply(*line);
      } catch (const Error& error) {
        return cut(error.problems().front());
      }
      if (phase_ == Phase::kHeader) return take_header();
    } else if (lines_.too_long()) {
      return cut_as_garbage();
    } else if (!read_more()) {
      return is_open() ? Step::kNothing : Step::kCut;
    }
  }
}

void ServiceStream::take_reply(std::string_view line) {
  if (phase_ == Phase::kHello) {
    const HelloReply hello = hello_from(line);
    opened_ = {};
    opened_.session_id = hello.session_id;
    opened_.resumed = resume_ && resume_->session_id == hello.session_id;
    SubscribeRequest subscribe;
    if (opened_.resumed) {
      subscribe.from = resume_->from;
      if (resume_->stream != 0) subscribe.stream = resume_->stream;
    } else {
      subscribe.living_first = true;
      subscribe.filter = filter_;
    }
    phase_ = Phase::kSubscribe;
    return send(subscribe);
  }
  const SubscribeReply reply = subscribe_from(line);
  opened_.sequence = sequence_ = reply.sequence;
  opened_.missed = reply.missed;
  opened_.living = living_left_ = reply.living;
  opened_.stream = reply.stream.value_or(0);
  const std::string rest = lines_.take_rest();
  reader_.feed(std::as_bytes(std::span(rest)));
  phase_ = Phase::kHeader;
}

ServiceStream::Step ServiceStream::take_header() {
  for (;;) {
    switch (reader_.step()) {
      case StreamReader::Step::kHeader: phase_ = Phase::kStream; return Step::kOpened;
      case StreamReader::Step::kNeedsBytes:
        if (!read_more()) return is_open() ? Step::kNothing : Step::kCut;
        break;
      case StreamReader::Step::kOlderSchema:
      case StreamReader::Step::kNewerSchema:
        return cut({ErrorCode::kServiceVersion,
                    0,
                    fmt::format("the service at {} sends events in another format", socket_.string()),
                    "use the libtracer of the same version as the service",
                    {}});
      default: return cut_as_garbage();
    }
  }
}

ServiceStream::Step ServiceStream::take_event(Event& event) {
  for (;;) {
    event = rows_.next();
    if (event.kind() != EventKind::kNone) {
      const auto* loss = event.get_if<Loss>();
      ++counted_;
      // These stand for what is missing, and have no number themselves.
      if (loss != nullptr && loss->cause == "living_dropped") {
        living_left_ -= std::min(living_left_, loss->count);
      } else if (loss != nullptr && loss->cause == "queue_full") {
        sequence_ += loss->count;
      } else if (living_left_ != 0) {
        --living_left_;
      } else {
        ++sequence_;
      }
      return Step::kEvent;
    }
    count_frame();
    rows_ = {};
    const StreamReader::Step step = reader_.step();
    if (reader_.damage().skipped_bytes != 0) return cut_as_garbage();
    if (step == StreamReader::Step::kFrame) {
      frame_events_ = reader_.frame().rows() + reader_.frame().unknown_rows();
      rows_.open(reader_.frame());
    } else if (step == StreamReader::Step::kNeedsBytes) {
      if (!read_more()) return is_open() ? Step::kNothing : Step::kCut;
    } else {
      return cut_as_garbage();
    }
  }
}

/// Events that this version does not know have numbers, too.
void ServiceStream::count_frame() {
  if (frame_events_ > counted_) sequence_ += frame_events_ - counted_;
  counted_ = frame_events_ = 0;
}

bool ServiceStream::read_more() {
  const ssize_t got = ::recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
  if (got > 0) {
    const auto bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
    if (phase_ == Phase::kHello || phase_ == Phase::kSubscribe) {
      lines_.feed(bytes);
    } else {
      reader_.feed(bytes);
    }
    return true;
  }
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) {
    if (phase_ != Phase::kStream && Clock::now() >= until_)
      cut({ErrorCode::kNoService,
           ETIMEDOUT,
           fmt::format("the service at {} does not answer", socket_.string()),
           "look at its state and log (systemctl status tracerd), or restart it",
           {}});
    return false;
  }
  cut({ErrorCode::kNoService,
       got < 0 ? errno : 0,
       fmt::format("the service at {} has closed the connection", socket_.string()),
       "look at its state and log (systemctl status tracerd), or restart it",
       {}});
  return false;
}

ServiceStream::Step ServiceStream::cut(Problem problem) {
  problem_ = std::move(problem);
  close();
  return Step::kCut;
}

ServiceStream::Step ServiceStream::cut_as_garbage() {
  return cut({ErrorCode::kServiceRefused,
              0,
              fmt::format("what listens on {} sends no stream of events", socket_.string()),
              "name the socket of tracerd serve",
              {}});
}

}  // namespace tracer::internal
