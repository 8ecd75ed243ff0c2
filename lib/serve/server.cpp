// SPDX-License-Identifier: Apache-2.0
#include "serve/server.hpp"

#include <utility>

#include "serve/service.hpp"

namespace tracer::internal {

Server::Server(Session& session, ServiceOptions options)
    : service_(std::make_unique<Service>(session, std::move(options))) {}
Server::~Server() = default;
SinkHandle Server::add_sink(std::unique_ptr<Sink> sink, std::span<const Event> first) {
  return service_->add_sink(std::move(sink), first);
}
void Server::record_by_owner(MeetOwner meet) { service_->record_by_owner(std::move(meet)); }
SinkHandle Server::add_sink_of(uid_t owner, std::unique_ptr<Sink> sink, std::span<const Event> first) {
  return service_->add_sink_of(owner, std::move(sink), first);
}
std::map<uid_t, std::vector<Event>> Server::by_owner(std::span<const Event> living) const {
  return service_->by_owner(living);
}
void Server::with_living(Meet meet) { service_->with_living(std::move(meet)); }
void Server::listen(UniqueFd socket, bool admin) { service_->listen(std::move(socket), admin); }
void Server::run(std::chrono::milliseconds timeout, int other_fd) { service_->run(timeout, other_fd); }
void Server::finish(std::chrono::milliseconds timeout) { service_->finish(timeout); }
std::size_t Server::connections() const noexcept { return service_->connections(); }

}  // namespace tracer::internal
