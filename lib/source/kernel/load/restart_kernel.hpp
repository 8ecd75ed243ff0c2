// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/families.hpp>

#include "base/unique_fd.hpp"

struct bpf_object;
struct bpf_object_skeleton;

namespace tracer::internal {

/// What was kept belongs to another BPF object, or is not whole.
struct OtherKernelSide {};

/// The kernel side of a process that may be killed: its maps, programs and links, by name, so that somebody else can
/// hold their descriptors and the next process goes on with them. Used while programs are loaded and attached, and by
/// the reader.
class KeptKernel {
 public:
  using Descriptors = std::map<std::string, UniqueFd, std::less<>>;
  /// By family: what its programs and maps are; see fingerprint() in the source.
  using Prints = std::map<std::string, std::string, std::less<>>;

  KeptKernel() = default;
  /// `left`: by an earlier process, whose programs have these prints.
  KeptKernel(Descriptors left, Prints prints) : left_(std::move(left)), left_prints_(std::move(prints)) {}

  /// The programs that an earlier process attached are used, and go on.
  bool continues() const noexcept { return !left_prints_.empty(); }
  /// They can't be: this process loads its own. What was left stays open.
  void begin_anew() noexcept;
  /// An earlier process has left another kernel side, which is not used.
  bool has_other_side() const noexcept { return !continues() && !left_.empty(); }
  /// Its records are made as this process reads them.
  bool left_has_form_of_now() const noexcept { return left_form_ == form_of_now(); }
  /// What `left_has_form_of_now` compares: of the process that left, or will leave.
  static std::string form_of_now();
  void left_form(std::string form) { left_form_ = std::move(form); }
  std::vector<UniqueFd> take_left_rings();
  UniqueFd take_left_map(Family family, std::string_view name);
  /// Detaches its programs: once this returns, they see nothing any more.
  void end_left();
  void when_left_ends(std::function<void()> end) { end_left_ = std::move(end); }
  /// Whoever holds descriptors must drop that one: it is detached.
  void when_dropped(std::function<void(const std::string& name)> drop) { drop_ = std::move(drop); }

  // While a family is loaded, in this order.
  /// Before: gives the object the maps that were left. Throws OtherKernelSide.
  void offer_maps(Family family, bpf_object& object);
  /// After: puts the programs that were left in place of those that were loaded.
  void take_programs(Family family, const bpf_object& object);
  /// The links that were left; their programs are not attached again.
  std::vector<UniqueFd> take_links(Family family, const bpf_object& object);
  bool has_link(Family family, std::string_view program) const;
  /// Once it is attached: notes what the next process needs of it.
  void note(Family family, const bpf_object_skeleton& skeleton);
  /// The family is detached for good.
  void drop(Family family);

  /// Of rings that user space has made; absent: make it.
  UniqueFd take_ring(std::uint32_t number);
  void note_ring(std::uint32_t number, int map);

  /// What the next process needs. The descriptors are borrowed.
  const std::map<std::string, int>& descriptors() const noexcept { return noted_; }
  const Prints& prints() const noexcept { return prints_; }

 private:
  UniqueFd take(std::string_view name);
  int find(std::string_view name) const;

  Descriptors left_;
  Prints left_prints_;
  std::map<std::string, int> noted_;
  Prints prints_;
  std::set<std::string> shared_;  ///< Names of maps that are another family's.
  std::string left_form_;
  std::function<void(const std::string& name)> drop_;
  std::function<void()> end_left_;
};

}  // namespace tracer::internal
