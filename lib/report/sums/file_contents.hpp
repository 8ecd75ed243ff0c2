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
  std::uint64_t open_from_ns = 0;  ///< Its first open, at the earliest.
  std::uint64_t open_to_ns = 0;    ///< And at the latest.
  std::uint64_t close_ns = 0;      ///< Its last close.
  bool begins = false;             ///< It began a content.
  bool created = false;            ///< With the file.
  bool reads = false;
  bool reads_earlier = false;  ///< What was there before it began one.
  bool writes = false;         ///< Or may have.
  bool surely_writes = false;
  bool writes_by_time = false;  ///< Surely, if nobody else did: the file was modified meanwhile.
};
ContentUse content_use(const FileUse& use);

/// A use, by its place in the list of them.
struct ContentPart {
  std::size_t use = 0;
  bool certain = true;  ///< False: it may also have been another content, or it may not have written at all.
};

struct Content {
  bool begun = false;                     ///< False: it was there before all that is known.
  std::vector<ContentPart> writers = {};  ///< The one who began it first.
  std::vector<ContentPart> readers = {};
  std::vector<std::size_t> others = {};  ///< Places of uses that did neither.
};

/// In their order. Those that nobody used are not among them.
std::vector<Content> contents_of(const std::vector<ContentUse>& uses);

/// False: too many wrote and read it for each to be compared with each.
inline bool may_pair(const Content& content) noexcept {
  constexpr std::size_t kMostPairs = 1'000'000;
  return content.writers.size() * content.readers.size() <= kMostPairs;
}

enum class Passed { kNo, kMaybe, kYes };
/// Whether the reader of a content has read what its writer wrote.
Passed passed(const std::vector<ContentUse>& uses, const Content& content, const ContentPart& writer,
              const ContentPart& reader) noexcept;

}  // namespace tracer::internal
