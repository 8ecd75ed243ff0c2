// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bounded.hpp"
#include "correlate/joins/family_join.hpp"
#include "correlate/joins/maybe_number.hpp"

namespace tracer::internal {

/// Collects what each program sends and receives, by peer, until it ends: its connections, and the bytes of accounts.
class NetworkJoin final : public FamilyJoin {
 public:
  static constexpr std::size_t kMostBytes = 8u << 20;  ///< That peers take, of all programs that live.

  explicit NetworkJoin(std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());
  Family family() const noexcept override { return Family::kNetwork; }
  void add(const ConnectionRecord& record, const Process& process) override;
  void at_exec(const ExecRecord& record, const std::shared_ptr<const Process>& before, ProcessExec& exec,
               std::vector<Event>& events) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_sample(ProcessSample& sample) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void without(Family family) override { waits_ = waits_ && family != Family::kWaits; }
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  struct Bytes {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  /// What a record says, without the process.
  struct Sums {
    explicit Sums(const ConnectionRecord& record);
    /// Of the same peer, after these.
    void add(const Sums& later);

    std::array<std::uint8_t, 16> local_address;  ///< All 0: not known.
    std::uint64_t sent_bytes;
    std::uint64_t received_bytes;
    std::uint64_t sends;
    std::uint64_t receives;
    std::uint64_t connects;
    std::uint64_t failed_connects;
    std::uint64_t retransmits;
    std::uint64_t last_ns;
    MaybeNumber round_trip_ns;
    MaybeNumber wait_ns;
    std::int32_t error;  ///< 0: none.
  };
  struct Exchanged {
    Sums now;
    std::unique_ptr<Sums> before = {};  ///< Of earlier rounds; few have any.
    std::optional<std::uint32_t> euid = {};

    Sums sum() const;
  };
  using Peers = std::map<ConnectionRecord::Peer, Exchanged>;
  static constexpr std::size_t kPeerBytes = sizeof(Peers::value_type) + 48;
  struct Sockets {
    std::uint64_t start_ns = 0;
    std::uint64_t program_start_ns = 0;
    Peers others = {};     ///< Of its program: those that are not told apart, here or by the source.
    bool folded = false;   ///< None is told apart here any more: what comes of them is left out.
    bool no_room = false;  ///< The source has said so.
    Bytes before = {};     ///< By programs that it ran before.
  };

  Sockets* find(std::uint32_t pid, std::uint64_t start_ns);
  Sockets& sockets_of(const ConnectionRecord& record);
  static void add(Peers& peers, const ConnectionRecord& record, const Process& process);
  void fold(std::uint32_t pid, const Peers& peers);
  /// All of the program that ends.
  Peers take(std::uint32_t pid, Sockets& sockets);
  static Bytes bytes_of(const Peers& peers);
  static Connection connection_of(const ConnectionRecord::Peer& peer, const Exchanged& exchanged);
  void report(const Peers& peers, std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events);
  void erase(std::uint32_t pid);

  std::shared_ptr<Accounts> accounts_;
  std::unordered_map<std::uint32_t, Sockets> processes_;  ///< By pid, as the next.
  Bounded<std::uint32_t, Peers> peers_;                   ///< That are told apart.
  bool waits_ = true;                                     ///< How long threads waited is counted.
};

}  // namespace tracer::internal
