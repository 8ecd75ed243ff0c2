// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bounded.hpp"
#include "base/user_questions.hpp"
#include "correlate/joins/family_join.hpp"
#include "source/proc/container_files.hpp"

namespace tracer::internal {

/// Follows each container from the first process that is reported in it until its cgroup is removed. The finish of one
/// that is lost is not reported.
class ContainersJoin final : public FamilyJoin {
 public:
  static constexpr std::size_t kMostBytes = 8u << 20;  ///< That containers take.
  static constexpr std::size_t kMostCgroupsOfContainer = 64;
  /// So long a container's finish waits for the exits of processes that were in it: they may come after the removal.
  static constexpr std::uint64_t kMostWaitNs = 1'000'000'000;

  using Read = std::function<ContainerFacts(const ContainerQuestion&)>;
  explicit ContainersJoin(
      std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>(),
      Read read = [](const ContainerQuestion& question) { return read_container_facts(question); });
  Family family() const noexcept override { return Family::kContainers; }
  void add(const CgroupEndRecord& record, std::vector<Event>& events) override;
  void at_start(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                std::vector<Event>& events) override;
  void at_exec(const ExecRecord& record, const std::shared_ptr<const Process>& before, ProcessExec& exec,
               std::vector<Event>& events) override;
  void at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) override;
  void at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
              std::vector<Event>& events) override;
  void forget(std::uint32_t pid, std::uint64_t start_ns) override;

 private:
  using Serial = std::uint64_t;                             ///< Of a container: each that begins has the next.
  using CgroupKey = std::pair<std::string, std::uint64_t>;  ///< Hierarchy and id.
  struct Container {
    std::string key;         ///< Hierarchy and path of the cgroup that is named by its id.
    ContainerFinish finish;  ///< As far as it is known.
    /// In which processes were seen, but for those below another of them. Empty: all are removed.
    std::vector<std::shared_ptr<const Cgroup>> topmost = {};
    bool lost_one = false;   ///< One of those was removed.
    std::size_t living = 0;  ///< Processes that were last seen in it.
  };
  struct Member {
    std::uint64_t start_ns = 0;
    Serial container = 0;
  };

  static CgroupKey key_of(const Cgroup& cgroup) { return {cgroup.hierarchy.value_or(""), cgroup.id.value_or(0)}; }
  Container* find(Serial serial);
  Container* container_of(std::uint32_t pid, std::uint64_t start_ns);
  Container* enter(std::uint64_t time_ns, const std::shared_ptr<const Process>& process, std::vector<Event>& events);
  Serial begin(std::uint64_t time_ns, const std::shared_ptr<const Process>& process, std::vector<Event>& events);
  void leave(std::uint32_t pid, std::uint64_t start_ns);
  void note_cgroup(Serial serial, const std::shared_ptr<const Cgroup>& cgroup);
  void forget_container(Serial serial, const Container& container);
  /// Fills in what the runtime's files have said until now.
  void take_names(Serial serial, ContainerFinish& finish);
  void finish_removed(std::uint64_t now_ns, std::vector<Event>& events);

  const Read read_;
  UserQuestions<Serial, ContainerFacts> names_;
  Serial last_ = 0;
  Bounded<Serial, Container> containers_;
  std::unordered_map<std::string, Serial> open_;       ///< By key: those that are not removed.
  std::map<CgroupKey, Serial> cgroups_;                ///< Of all `topmost`.
  std::unordered_map<std::uint32_t, Member> members_;  ///< By pid: processes that live.
  std::vector<Serial> removed_;                        ///< Whose finish waits for exits.
};

}  // namespace tracer::internal
