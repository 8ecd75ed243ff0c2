// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counter.hpp"
#include "source/kernel/families/family.hpp"
#include "source/kernel/families/sent_keys.hpp"
#include "source/kernel/families/shared_rows.hpp"
#include "source/kernel/load/skeleton.hpp"
#include "wire.h"

struct files_bpf;

namespace tracer::internal {

/// The program that sees the last close of each file: by tracing a function, or, where the kernel refuses that, as the
/// file is freed. Where functions can be traced, others see opens, renames and deletes.
class FilesFamily final : public KernelFamily {
 public:
  FilesFamily() noexcept;
  ~FilesFamily() override;

  Family id() const noexcept override { return Family::kFiles; }
  const char* mechanism() const noexcept override;
  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override;
  std::span<const WireRecord> records() const noexcept override;
  void load(FamilySetup& setup) override;
  void unload(FamilySetup&) noexcept override;
  void attach() override;
  void go_on(std::uint64_t before_ns) override;
  void end_events() noexcept override { detach(); }
  void detach() noexcept override;
  void read(Decoder&, Feed&, const SnapshotHelp& help) override;
  bool passes(const Record& record, Feed& feed) override;
  void flush(Feed& feed) override;
  const bpf_object* object() const noexcept override;
  ProgramSums usage() const override;
  std::map<std::string, std::uint64_t> losses() const override;
  std::optional<Problem> missing_part() const override;

 private:
  enum class Way { kFunction, kFree };
  void load(const FamilySetup& setup, Way way, bool moves);
  void load_moves(files_bpf& bpf, const KernelTypes& types, bool moves);
  void note_refusal(const std::string& what);
  void attach_program();
  void see_own_close();
  struct SentRow {
    std::uint32_t account = 0;
    bool may_have_more = false;  ///< A file that was used once has nothing to be asked for.
  };
  using Sent = SentKeys<FileUseRecord::File, SentRow>;
  using Noise = std::pair<FileUseRecord::File, std::uint64_t>;  ///< With its place.

  bool is_noise(const FileUseRecord& use);
  void make_noise(const Noise& noise);
  void remember(const FileUseRecord& record);
  void forget(const FileUseRecord& record);
  using Rows = SharedRows<tracer_file_key, tracer_file_sums>;
  Rows rows() const;
  void yield_rest(const RecordIdentity& identity, const Sent::Sent& sent, Feed& feed);

  Skeleton<files_bpf> skeleton_;
  Way way_ = Way::kFunction;
  bool sees_opens_ = false;
  bool sees_moves_ = false;
  Problem no_moves_;       ///< Why it does not see renames and deletes.
  std::set<Noise> noise_;  ///< Of which records may still be on their way.
  Sent sent_;              ///< Files of processes that the kernel keeps sums of.
  Counter forgotten_;      ///< Files whose sums are gone, or that were too many.
};

}  // namespace tracer::internal
