// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/network.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "lifecycle.skel.h"
#include "network.skel.h"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/map_keys.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/ring/wire_reading.hpp"
#include "source/proc/pid_namespace.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

/// Of all programs that live: as many as the kernel keeps.
constexpr std::size_t kMostKnown = 16384;
constexpr const char* kMapsOfSocketWaits[] = {"threads", "displaced_threads", "owed_waits"};

bool can_see_sockets(const KernelTypes& types) {
  return types.has_tracepoint("sock_send_length") && types.has_tracepoint("sock_recv_length") &&
         types.has_tracepoint("inet_sock_set_state") && types.has_tracepoint("tcp_destroy_sock");
}

void take_sums(const tracer_connection_sums& sums, ConnectionRecord& record) {
  std::copy_n(sums.local, record.local_address.size(), record.local_address.begin());
  record.sent_bytes = sums.sent_bytes;
  record.received_bytes = sums.received_bytes;
  record.sends = sums.sends;
  record.receives = sums.receives;
  record.connects = sums.connects;
  record.failed_connects = sums.failed_connects;
  record.retransmits = sums.retransmits;
  // In eighths of a microsecond.
  if (sums.round_trip_us != 0) record.round_trip_ns = std::uint64_t{sums.round_trip_us} * 1000 / 8;
  if (sums.error != 0) record.error = static_cast<std::int32_t>(sums.error);
  record.last_ns = sums.last_ns;
  record.account = sums.account;
  record.no_room = sums.no_room != 0;
  if (sums.wait_unknown == 0) record.wait_ns = sums.wait_ns;
}

bool take_connection(std::span<const std::byte> bytes, ConnectionRecord& record) {
  tracer_wire_connection wire;
  if (!take(bytes, wire) || !take_identity(wire.header, wire.identity, record.identity)) return false;
  const tracer_connection_key& key = wire.key;
  if (key.protocol > TRACER_PROTOCOL_UNIX || key.role > TRACER_ROLE_SERVER) return false;
  record.program_start_ns = key.program_start_ns;
  record.kernel_pid = key.pid;
  std::copy_n(key.remote, record.peer.address.size(), record.peer.address.begin());
  record.peer.port = key.port;
  record.peer.protocol = key.protocol;
  record.peer.role = key.role;
  record.peer.same_host = key.same_host != 0;
  record.peer.folded = key.folded != 0;
  record.peer.user = key.user;
  take_sums(wire.sums, record);
  return true;
}

constexpr WireRecord kNetworkRecords[] = {{TRACER_WIRE_CONNECTION, decode_as<ConnectionRecord, take_connection>}};

tracer_connection_key key_of(std::uint64_t start_ns, std::uint64_t program_start_ns, std::uint32_t kernel_pid,
                             const ConnectionRecord::Peer& peer) {
  tracer_connection_key key{};
  key.start_ns = start_ns;
  key.program_start_ns = program_start_ns;
  std::copy(peer.address.begin(), peer.address.end(), key.remote);
  key.pid = kernel_pid;
  key.port = peer.port;
  key.protocol = peer.protocol;
  key.role = peer.role;
  key.same_host = peer.same_host ? 1 : 0;
  key.folded = peer.folded ? 1 : 0;
  key.user = peer.user;
  return key;
}

}  // namespace

NetworkFamily::NetworkFamily() noexcept : sent_(kMostKnown) {}
NetworkFamily::~NetworkFamily() = default;

void NetworkFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  items.push_back(feature_item("tracepoints sock_send_length and sock_recv_length", can_see_sockets(types),
                               "family network: peers, and bytes sent and received (else they are null)", "6.3"));
}

std::span<const WireRecord> NetworkFamily::records() const noexcept { return kNetworkRecords; }

void NetworkFamily::load(FamilySetup& setup) {
  if (!can_see_sockets(setup.types))
    throw Error({ErrorCode::kKernelTooOld,
                 0,
                 "this kernel does not report what is sent and received through sockets",
                 "it came with Linux 6.3",
                 {}});
  skeleton_.load(id(), setup.keep, &::network_bpf__open_opts, &::network_bpf__destroy,
                 [&](network_bpf& bpf, const LibbpfLog& log) {
                   bpf.rodata->slot_mask = setup.places - 1;
                   set_rings(*bpf.rodata, setup);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                   if (setup.waits == nullptr) return;
                   bpf.rodata->thread_mask = setup.thread_places - 1;
                   share_maps(*setup.waits, *bpf.obj, kMapsOfSocketWaits, log);
                 });
}

void NetworkFamily::unload(FamilySetup&) noexcept { skeleton_.unload(); }

void NetworkFamily::attach() { skeleton_.attach(id()); }

NetworkFamily::Rows NetworkFamily::rows() const {
  return {::bpf_map__fd(skeleton_->maps.connections), skeleton_->bss->rows_of, skeleton_->bss->rows_of_all};
}

void NetworkFamily::go_on(std::uint64_t before_ns) {
  const auto began_before = [before_ns](const tracer_connection_key& key) { return key.start_ns <= before_ns; };
  const int map = ::bpf_map__fd(skeleton_->maps.connections);
  for (const tracer_connection_key& key : keys_of<tracer_connection_key>(map, began_before)) rows().remove(key);
}

void NetworkFamily::detach() noexcept { skeleton_.detach(); }

const bpf_object* NetworkFamily::object() const noexcept { return &skeleton_.object(); }

std::map<std::string, std::uint64_t> NetworkFamily::losses() const {
  auto losses = KernelFamily::losses();
  if (const std::uint64_t forgotten = forgotten_.value(); forgotten != 0) losses["ring_full_connection"] += forgotten;
  return losses;
}

bool NetworkFamily::passes(const Record& record, Feed& feed) {
  if (const auto* connection = std::get_if<ConnectionRecord>(&record)) {
    const std::uint64_t start_ns = connection->identity.start_ns;
    if (!sent_.remember({connection->identity.pid, connection->program_start_ns}, connection->kernel_pid,
                        {start_ns, connection->peer}, connection->account)) {
      forgotten_.add(1);
      rows().remove(key_of(start_ns, connection->program_start_ns, connection->kernel_pid, connection->peer),
                    connection->account);
    }
  } else if (const auto* exec = std::get_if<ExecRecord>(&record)) {
    const Sent::Owner program{exec->identity.pid, exec->ended_start_ns};
    yield(program, sent_.take(program), Keep::kNo, feed);
  } else if (const auto* exit = std::get_if<ExitRecord>(&record)) {
    const Sent::Owner program{exit->identity.pid, exit->program_start_ns};
    yield(program, sent_.take(program), Keep::kNo, feed);
  }
  return true;
}

void NetworkFamily::yield(const Sent::Owner& program, const Sent::Sent& sent, Keep keep, Feed& feed) {
  if (sent.keys.empty()) return;
  for (const auto& [known, account] : sent.keys) {
    const tracer_connection_key key = key_of(known.start_ns, program.second, sent.kernel_pid, known.peer);
    tracer_connection_sums sums;
    if (!rows().find(key, sums)) {
      if (keep == Keep::kNo) forgotten_.add(1);
      continue;
    }
    if (keep == Keep::kNo) rows().remove(key, account);
    Record record(std::in_place_type<ConnectionRecord>);
    auto& rest = std::get<ConnectionRecord>(record);
    rest.identity.pid = program.first;
    rest.identity.start_ns = known.start_ns;
    rest.program_start_ns = program.second;
    rest.kernel_pid = sent.kernel_pid;
    rest.peer = known.peer;
    take_sums(sums, rest);
    feed.record(record);
  }
}

void NetworkFamily::read(Decoder&, Feed& feed, const SnapshotHelp& help) {
  constexpr std::size_t kBetween = 64;
  if (sent_.nearly_full()) {
    for (const auto& [program, sent] : sent_.take_unless(help.tracks()))
      for (const auto& [known, account] : sent.keys)
        rows().remove(key_of(known.start_ns, program.second, sent.kernel_pid, known.peer), account);
  }
  // What happens in between may add programs, and take some away.
  const std::map<Sent::Owner, Sent::Sent> now = sent_.all();
  std::size_t done = 0;
  for (const auto& [program, sent] : now) {
    if (++done % kBetween == 0) help.between();
    yield(program, sent, Keep::kYes, feed);
  }
}

void NetworkFamily::flush(Feed& feed) {
  for (const auto& [program, sent] : sent_.all()) yield(program, sent, Keep::kNo, feed);
  sent_.clear();
}

std::unique_ptr<KernelFamily> network_family() { return std::make_unique<NetworkFamily>(); }

}  // namespace tracer::internal
