// SPDX-License-Identifier: Apache-2.0
/// The contents that a file had one after another, who wrote each of them, and who read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::internal {

/// How one process used a file. When it opened it may not be known: not before it began, unless another had done it.
struct ContentUse {
  std::uint64_t process_ns = 0;    ///< When its process began: of others it is another.
  std::uint64_t open_from_ns = 0;  ///< Its first open, at the earliest.
  std::uint64_t open_to_ns = 0;    ///< And at the latest.
  std::uint64_t close_ns = 0;      ///< Its last close.
  bool begins = false;             ///< It began a content.
  bool may_begin = false;          ///< It may have, but that is not known.
  bool may_be_several = false;     ///< Contents that it began: they count as one.
  bool created = false;            ///< With the file.
  bool reads = false;
  bool reads_earlier = false;         ///< What was there before it began one. Or may have.
  bool surely_reads_earlier = false;  ///< If it has read at all.
  bool writes = false;                ///< Or may have.
  bool surely_writes = false;
  bool writes_by_time = false;  ///< Surely, if nobody else did: the file was modified meanwhile.

  bool only_reads() const noexcept { return !writes && !begins; }
  /// Stands for another that only reads, too.
  void widen(const ContentUse& other) noexcept;
};
ContentUse content_use(const FileUse& use);

/// A content may have begun in this time, or not.
struct MayBegin {
  std::uint64_t process_ns = 0;  ///< As in ContentUse. 0: of several.
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
};

/// Bounded: those beyond the most are one, from the first to the last.
class MayBegins {
 public:
  void add(const MayBegin& each);
  /// By a process that has written files which are not told apart: it may have begun a content of any.
  void add_unnamed(const FileUse& use, std::uint64_t wall_offset_ns = 0);
  /// Whether any may have begun in between, by another than these two processes.
  bool between(const ContentUse& writer, const ContentUse& reader) const noexcept;
  bool any_before(std::uint64_t time_ns) const noexcept;

 private:
  static constexpr std::size_t kMost = 64;
  std::vector<MayBegin> all_;
};

/// A use, by its place in the list of them.
struct ContentPart {
  std::size_t use = 0;
  bool certain = true;  ///< False: it may also have been another content, or it may not have written at all.
  bool began = false;   ///< It began the content by that.
};

struct Content {
  std::vector<ContentPart> writers = {};
  std::vector<ContentPart> readers = {};
  std::vector<std::size_t> others = {};  ///< Places of uses that did neither.
  MayBegins may_begin = {};              ///< What was there before would be another content.
  bool known = true;                     ///< False: there were too many uses; all are `others`.
};

/// In their order. Those that nobody used are not among them.
std::vector<Content> contents_of(const std::vector<ContentUse>& uses);

/// False: too many wrote and read it for each to be compared with each.
inline bool may_pair(const Content& content) noexcept {
  constexpr std::size_t kMostPairs = 1'000'000;
  return content.writers.size() * content.readers.size() <= kMostPairs;
}

enum class Passed { kNo, kMaybe, kYes };
/// Whether the reader of a content has read what its writer wrote. `unnamed`: contents that any file may have had.
Passed passed(const std::vector<ContentUse>& uses, const Content& content, const ContentPart& writer,
              const ContentPart& reader, const MayBegins& unnamed = {}) noexcept;

}  // namespace tracer::internal
