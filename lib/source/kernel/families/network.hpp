// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/counter.hpp"
#include "source/kernel/families/family.hpp"
#include "source/kernel/families/sent_keys.hpp"
#include "source/kernel/families/shared_rows.hpp"
#include "source/kernel/load/skeleton.hpp"

struct network_bpf;

namespace tracer::internal {

/// The programs that see what goes through sockets. The kernel keeps the sums of each program and peer, which this asks
/// for at each snapshot and at the program's end.
class NetworkFamily final : public KernelFamily {
 public:
  NetworkFamily() noexcept;
  ~NetworkFamily() override;

  Family id() const noexcept override { return Family::kNetwork; }
  const char* mechanism() const noexcept override {
    return "tp_btf: sock_send_length, sock_recv_length, inet_sock_set_state, tcp_destroy_sock";
  }
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  std::span<const WireRecord> records() const noexcept override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup&) noexcept override;
  void attach() override;
  void go_on(std::uint64_t before_ns) override;
  void end_events() noexcept override { detach(); }
  void detach() noexcept override;
  void read(Decoder&, Feed& feed, const SnapshotHelp& help) override;
  bool passes(const Record& record, Feed& feed) override;
  void flush(Feed& feed) override;
  const bpf_object* object() const noexcept override;
  std::map<std::string, std::uint64_t> losses() const override;

 private:
  /// A peer of a program of a process that began then.
  struct Known {
    std::uint64_t start_ns = 0;
    ConnectionRecord::Peer peer;
    auto operator<=>(const Known&) const = default;
  };
  using Sent = SentKeys<Known, std::uint32_t>;  ///< With its account.
  enum class Keep { kNo, kYes };
  using Rows = SharedRows<tracer_connection_key, tracer_connection_sums>;

  Rows rows() const;
  void yield(const Sent::Owner& program, const Sent::Sent& sent, Keep keep, Feed& feed);

  Skeleton<network_bpf> skeleton_;
  Sent sent_;
  Counter forgotten_;  ///< Peers whose sums are gone, or that were too many.
};

}  // namespace tracer::internal
