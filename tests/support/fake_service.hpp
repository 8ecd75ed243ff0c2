// SPDX-License-Identifier: Apache-2.0
/// A service that speaks the protocol, and can be told to speak it badly. It sends everything, whatever the filter.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/event.hpp>

#include "base/unique_fd.hpp"
#include "base/wakeup.hpp"
#include "protocol/line_splitter.hpp"
#include "protocol/messages.hpp"
#include "stream/stream_writer.hpp"
#include "temp_file.hpp"

class FakeService {
 public:
  explicit FakeService(std::string session_id = "00000000000000aa") : session_id_(std::move(session_id)) { start(); }
  ~FakeService() { stop(); }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;

  std::filesystem::path socket() const { return folder_.folder() / "socket"; }

  /// The event gets the next number, and goes to all subscribers at once.
  void push(tracer::Event event) {
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_)
      if (client.stream) send(client, std::span(&event, 1));
    events_.push_back(std::move(event));
  }
  /// Goes to all subscribers, without a number.
  void push_unnumbered(const tracer::Event& event) {
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_)
      if (client.stream) send(client, std::span(&event, 1));
  }
  /// What a late joiner gets first; a Loss stands for as many as it counts.
  void lives(tracer::Event event) {
    const std::lock_guard lock(mutex_);
    living_.push_back(std::move(event));
  }
  /// The oldest events are not there any more.
  void forget(std::size_t count) {
    const std::lock_guard lock(mutex_);
    forgotten_ = count;
  }
  void set_samples(std::vector<tracer::ProcessSample> samples) {
    const std::lock_guard lock(mutex_);
    samples_ = std::move(samples);
  }
  void set_families(std::vector<tracer::FamilyState> families) {
    const std::lock_guard lock(mutex_);
    families_ = std::move(families);
  }
  /// Among its events are findings, as it says.
  void have_findings() {
    const std::lock_guard lock(mutex_);
    findings_ = true;
  }
  /// The reply to requests of this name is this text, as it is; empty: none.
  void answer(const std::string& request, std::string text) {
    const std::lock_guard lock(mutex_);
    answers_[request] = std::move(text);
  }
  void answer_well(const std::string& request) {
    const std::lock_guard lock(mutex_);
    answers_.erase(request);
  }
  void refuse(const std::string& request, tracer::ErrorCode code, const std::string& what) {
    answer(request, tracer::internal::refusal_line(tracer::Error({code, 0, what, "a fix", {}})));
  }
  /// To all subscribers, as they are.
  void send_bytes(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_)
      if (client.stream) put(client, bytes);
  }
  /// Ends all connections.
  void cut() {
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_) ::shutdown(client.fd.get(), SHUT_RDWR);
  }
  /// Ends all connections, and takes no new ones until start().
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wakeup_.set();
    }
    if (thread_.joinable()) thread_.join();
    clients_.clear();
    listening_.reset();
    ::unlink(socket().c_str());
  }
  void start() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening_.get(), 16) != 0)
      throw std::system_error(errno, std::generic_category(), "listen");
    stopping_ = false;
    wakeup_.clear();
    thread_ = std::thread([this] { serve(); });
  }
  /// As another session of the service: its numbers begin again.
  void become(std::string session_id) {
    const std::lock_guard lock(mutex_);
    session_id_ = std::move(session_id);
    events_.clear();
    forgotten_ = 0;
  }

  template <class R>
  std::vector<R> requests() const {
    const std::lock_guard lock(mutex_);
    std::vector<R> found;
    for (const auto& request : requests_)
      if (const auto* typed = std::get_if<R>(&request)) found.push_back(*typed);
    return found;
  }
  std::size_t subscribers() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(clients_.begin(), clients_.end(), [](const Client& client) { return client.stream != nullptr; }));
  }

 private:
  struct Client {
    tracer::internal::UniqueFd fd;
    tracer::internal::LineSplitter lines{};
    std::unique_ptr<tracer::internal::StreamWriter> stream = {};
  };

  void serve() {
    for (;;) {
      std::vector<pollfd> ready{{wakeup_.fd(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
      for (const Client& client : clients_) ready.push_back({client.fd.get(), POLLIN, 0});
      ::poll(ready.data(), ready.size(), -1);
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      std::size_t at = 2;
      for (auto client = clients_.begin(); client != clients_.end(); ++at) {
        const bool gone = ready[at].revents != 0 && !take(*client);
        client = gone ? clients_.erase(client) : std::next(client);
      }
      if (ready[1].revents == 0) continue;
      if (const int fd = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC); fd >= 0)
        clients_.push_back({tracer::internal::UniqueFd(fd)});
    }
  }

  bool take(Client& client) {
    std::array<std::byte, 4096> buffer;
    const ssize_t got = ::recv(client.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    client.lines.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    while (const auto line = client.lines.next()) {
      const auto request = tracer::internal::request_from(*line);
      requests_.push_back(request);
      std::visit([&](const auto& typed) { reply(client, typed); }, request);
    }
    return true;
  }

  template <class R>
  void reply(Client& client, const R& request) {
    const auto said = answers_.find(std::string(R::kName));
    put(client, said != answers_.end() ? said->second : good_reply(client, request));
    if (said == answers_.end() && std::is_same_v<R, tracer::internal::SubscribeRequest>) begin(client);
  }

  template <class R>
  std::string good_reply(Client&, const R&) {
    return tracer::internal::ok_line();
  }
  std::string good_reply(Client&, const tracer::internal::HelloRequest&) {
    tracer::internal::HelloReply hello;
    hello.tracer_version = "0";
    hello.session_id = session_id_;
    hello.uid = ::geteuid();
    hello.host = tracer::this_host();
    hello.families = families_;
    hello.findings = findings_;
    return to_line(hello);
  }
  std::string good_reply(Client&, const tracer::internal::LabelRequest&) {
    return to_line(tracer::internal::LabelReply{++last_label_});
  }
  std::string good_reply(Client&, const tracer::internal::FlushRequest&) {
    return to_line(tracer::internal::FlushReply{events_.size()});
  }
  std::string good_reply(Client&, const tracer::internal::SnapshotRequest&) {
    return to_line(tracer::internal::SnapshotReply{samples_});
  }
  std::string good_reply(Client&, const tracer::internal::SubscribeRequest& request) {
    std::size_t first = request.from ? static_cast<std::size_t>(*request.from) - 1 : events_.size();
    const std::size_t missed = forgotten_ - std::min(forgotten_, first);
    first = std::min(std::max(first, forgotten_), events_.size());
    to_send_ = request.living_first ? living_ : std::vector<tracer::Event>();
    std::size_t living = 0;
    for (const tracer::Event& event : to_send_) {
      const auto* loss = event.get_if<tracer::Loss>();
      living += loss == nullptr ? 1 : static_cast<std::size_t>(loss->count);
    }
    if (request.from)
      to_send_.insert(to_send_.end(), events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end());
    tracer::internal::SubscribeReply reply{first + 1, request.from ? missed : 0, living};
    if (!request.filter.rules().empty()) reply.stream = ++last_stream_;
    if (request.stream) reply.stream = request.stream;
    return to_line(reply);
  }
  void begin(Client& client) {
    client.stream = std::make_unique<tracer::internal::StreamWriter>(tracer::this_host());
    send(client, to_send_);
  }

  void send(Client& client, std::span<const tracer::Event> events) {
    for (const tracer::Event& event : events) client.stream->append(event);
    client.stream->close_frame();
    const auto bytes = client.stream->ready();
    put(client, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    client.stream->clear_ready();
  }
  static void put(const Client& client, std::string_view text) {
    if (!text.empty()) static_cast<void>(::send(client.fd.get(), text.data(), text.size(), MSG_NOSIGNAL));
  }

  const TempFile folder_;
  std::string session_id_;
  tracer::internal::UniqueFd listening_;
  tracer::internal::Wakeup wakeup_;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::list<Client> clients_;
  std::vector<tracer::Event> events_;  ///< The first has the number 1.
  std::vector<tracer::Event> living_;
  std::vector<tracer::Event> to_send_;
  std::vector<tracer::ProcessSample> samples_;
  std::vector<tracer::FamilyState> families_;
  bool findings_ = false;
  std::size_t forgotten_ = 0;
  std::uint64_t last_label_ = 0;
  std::uint64_t last_stream_ = 0;
  std::map<std::string, std::string> answers_;
  std::vector<tracer::internal::Request> requests_;
  std::thread thread_;
};
