// SPDX-License-Identifier: Apache-2.0
#include "report/sums/file_contents.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace tracer::internal {
namespace {

/// A content was begun within this time; it lasts until the next was.
struct Begin {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
};

/// The contents that one which opened the file within a time may have found, as a range of places.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;

  bool has(std::size_t place) const noexcept { return place >= first && place <= last; }
};

/// Of one file, beyond one of each use.
constexpr std::size_t kMostParts = 1'000'000;

class Begins {
 public:
  /// In the order in which they were over at the latest.
  explicit Begins(std::vector<Begin> begins)
      : begins_(std::move(begins)), most_from_ns_(begins_.size()), least_from_ns_(begins_.size()) {
    std::uint64_t most_ns = 0;
    for (std::size_t i = 0; i < begins_.size(); ++i) most_from_ns_[i] = most_ns = std::max(most_ns, begins_[i].from_ns);
    std::uint64_t least_ns = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = begins_.size(); i-- > 0;)
      least_from_ns_[i] = least_ns = std::min(least_ns, begins_[i].from_ns);
  }

  /// Contents that were over before one which had begun by `from_ns` for certain are gone.
  Range found_within(std::uint64_t from_ns, std::uint64_t to_ns) const {
    const std::size_t begun = begun_until(from_ns);
    const std::uint64_t newest_ns = begun == 0 ? 0 : most_from_ns_[begun - 1];
    const std::size_t first = newest_ns == 0 ? 0 : begun_until(newest_ns - 1);
    return {first, std::max(first, last_before(to_ns))};
  }
  /// By the one who began this, afterwards.
  Range found_after(std::size_t own, std::uint64_t to_ns) const {
    return {std::min(own, begun_until(begins_[own].from_ns)), std::max(own, last_before(to_ns))};
  }

 private:
  /// How many had begun by then for certain.
  std::size_t begun_until(std::uint64_t time_ns) const {
    const auto later = [](std::uint64_t time, const Begin& begin) { return time < begin.to_ns; };
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), time_ns, later) - begins_.begin());
  }
  /// The last that may have begun before.
  std::size_t last_before(std::uint64_t time_ns) const {
    const auto end = std::lower_bound(least_from_ns_.begin(), least_from_ns_.end(), time_ns);
    return static_cast<std::size_t>(std::max(end - least_from_ns_.begin(), std::ptrdiff_t{1}) - 1);
  }

  std::vector<Begin> begins_;
  std::vector<std::uint64_t> most_from_ns_;   ///< Up to each of them.
  std::vector<std::uint64_t> least_from_ns_;  ///< From each of them on.
};

/// The places of the uses that did this, in the order of that time.
std::vector<std::size_t> places_of(const std::vector<ContentUse>& uses, bool ContentUse::*what,
                                   std::uint64_t ContentUse::*time_ns) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i].*what) places.push_back(i);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].*time_ns < uses[b].*time_ns; });
  return places;
}

/// Whether nobody else wrote, or may have, while each of these did: else the time of a change does not say whose it is.
std::vector<bool> are_alone(const std::vector<ContentUse>& uses) {
  const auto writers = places_of(uses, &ContentUse::writes, &ContentUse::open_from_ns);
  std::vector<bool> alone(uses.size(), true);
  std::uint64_t closed_ns = 0;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    const ContentUse& use = uses[writers[i]];
    const bool before_next = i + 1 == writers.size() || uses[writers[i + 1]].open_from_ns >= use.close_ns;
    alone[writers[i]] = closed_ns <= use.open_from_ns && before_next;
    closed_ns = std::max(closed_ns, use.close_ns);
  }
  return alone;
}

/// When each has opened the file at the earliest: a process makes one of the same number again after it has used it.
std::vector<std::uint64_t> earliest_opens(const std::vector<ContentUse>& uses) {
  std::vector<std::uint64_t> opens;
  for (const ContentUse& use : uses) opens.push_back(use.open_from_ns);
  std::unordered_map<std::uint64_t, std::uint64_t> closed;
  for (const std::size_t each : places_of(uses, &ContentUse::created, &ContentUse::close_ns)) {
    std::uint64_t& before_ns = closed[uses[each].process_ns];
    opens[each] = std::max(opens[each], before_ns);
    before_ns = uses[each].close_ns;
  }
  return opens;
}

}  // namespace

void ContentUse::widen(const ContentUse& other) noexcept {
  open_from_ns = std::min(open_from_ns, other.open_from_ns);
  open_to_ns = std::max(open_to_ns, other.open_to_ns);
  close_ns = std::max(close_ns, other.close_ns);
  surely_reads_earlier = surely_reads_earlier && other.surely_reads_earlier;
}

void MayBegins::add(const MayBegin& each) {
  if (all_.size() < kMost) return all_.push_back(each);
  MayBegin& rest = all_.back();
  rest = {0, std::min(rest.from_ns, each.from_ns), std::max(rest.to_ns, each.to_ns)};
}

void MayBegins::add_unnamed(const FileUse& use, std::uint64_t wall_offset_ns) {
  if (use.folded != "others" || !use.opened_to_write) return;
  const std::uint64_t begin_ns = use.process->start_ns + wall_offset_ns;
  add({begin_ns, begin_ns, use.last_close_ns + wall_offset_ns});
}

bool MayBegins::between(const ContentUse& writer, const ContentUse& reader) const noexcept {
  return std::any_of(all_.begin(), all_.end(), [&](const MayBegin& each) {
    return each.process_ns != writer.process_ns && each.process_ns != reader.process_ns &&
           each.to_ns > writer.open_from_ns && each.from_ns < reader.open_to_ns;
  });
}

bool MayBegins::any_before(std::uint64_t time_ns) const noexcept {
  return std::any_of(all_.begin(), all_.end(), [&](const MayBegin& each) { return each.from_ns < time_ns; });
}

/// Recordings of before have no generation: they know only what an open made, and how much was written where it was the
/// only one.
ContentUse content_use(const FileUse& use) {
  const bool is_old = !use.generation;
  ContentUse own;
  own.process_ns = use.process->start_ns;
  own.close_ns = use.last_close_ns;
  own.open_from_ns = use.first_open_ns.value_or(std::min(use.process->start_ns, use.last_close_ns));
  own.open_to_ns = use.opens <= 1 && use.first_open_ns ? *use.first_open_ns : use.last_close_ns;
  own.created = use.created;
  const bool wrote_all = use.opens == 1 && use.written_bytes.value_or(0) != 0 && use.written_bytes == use.size_bytes;
  own.begins = use.contents_begun ? *use.contents_begun != 0 : is_old && (use.created || wrote_all);
  own.writes = use.opened_to_write && use.modified_meanwhile.value_or(true);
  own.may_begin = !is_old && own.writes && !use.contents_begun;
  own.may_be_several = own.may_begin || use.contents_begun.value_or(0) > 1;
  // Who could write to an empty file, such as a lock, has read nothing.
  const bool could_write = use.opened_to_write || use.created;
  own.reads = use.opened_to_read && (!could_write || use.read_bytes.value_or(use.size_bytes.value_or(1)) != 0);
  own.reads_earlier = own.reads && use.read_earlier_content.value_or(!is_old || !own.begins);
  own.surely_reads_earlier = use.read_earlier_content.value_or(is_old);
  own.surely_writes = own.writes && (use.modified_meanwhile.has_value() || is_old);
  own.writes_by_time = own.surely_writes && !is_old && !own.begins && use.written_bytes.value_or(0) == 0;
  return own;
}

std::vector<Content> contents_of(const std::vector<ContentUse>& uses) {
  const auto beginners = places_of(uses, &ContentUse::begins, &ContentUse::open_to_ns);
  const std::vector<std::uint64_t> from_ns = earliest_opens(uses);
  std::vector<Content> contents;
  std::vector<Begin> begun;
  // One that made the file found nothing in it.
  if (beginners.empty() || !uses[beginners.front()].created) {
    contents.emplace_back();
    begun.push_back({0, 0});
  }
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> own(uses.size(), kNone);  // The place of the content that each began.
  for (const std::size_t each : beginners) {
    own[each] = contents.size();
    contents.emplace_back();
    if (uses[each].writes) contents.back().writers.push_back({each, true, true});
    begun.push_back({from_ns[each], uses[each].open_to_ns});
  }
  const Begins begins(std::move(begun));
  std::size_t parts = 0;
  // In another content than `but`.
  const auto place = [&](std::size_t at, const Range& range, std::size_t but, bool certain,
                         std::vector<ContentPart> Content::*list) {
    parts += range.last - range.first;
    certain = certain && range.last - range.first == (range.has(but) ? 1 : 0);
    for (std::size_t i = range.first; i <= range.last && parts <= kMostParts; ++i)
      if (i != but) (contents[i].*list).push_back({at, certain});
  };
  const std::vector<bool> alone = are_alone(uses);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ContentUse& use = uses[i];
    // Whoever read what was there before may have read its own as well: that is not known.
    const Range found = begins.found_within(from_ns[i], use.open_to_ns);
    if (use.reads_earlier)
      place(i, found, own[i], use.surely_reads_earlier, &Content::readers);
    else if (use.reads && use.begins)
      place(i, begins.found_after(own[i], use.close_ns), kNone, true, &Content::readers);
    if (use.writes && !use.begins)
      place(i, found, own[i], use.surely_writes && (!use.writes_by_time || alone[i]), &Content::writers);
    if (!use.reads && !use.writes) contents[begins.found_within(use.close_ns, use.close_ns).last].others.push_back(i);
  }
  if (parts > kMostParts) {
    contents.assign(1, {});
    contents.front().known = false;
    for (std::size_t i = 0; i < uses.size(); ++i) contents.front().others.push_back(i);
    return contents;
  }
  std::erase_if(contents, [](const Content& content) {
    return content.writers.empty() && content.readers.empty() && content.others.empty();
  });
  for (Content& content : contents)
    for (const ContentPart& writer : content.writers)
      if (const ContentUse& use = uses[writer.use]; use.may_begin)
        content.may_begin.add({use.process_ns, use.open_from_ns, use.open_to_ns});
  return contents;
}

Passed passed(const std::vector<ContentUse>& uses, const Content& content, const ContentPart& writer,
              const ContentPart& reader, const MayBegins& unnamed) noexcept {
  const ContentUse& wrote = uses[writer.use];
  const ContentUse& read = uses[reader.use];
  if (!writer.began && wrote.open_from_ns >= read.close_ns) return Passed::kNo;
  const bool certain = writer.certain && reader.certain && (writer.began || wrote.close_ns <= read.open_from_ns) &&
                       !content.may_begin.between(wrote, read) && !unnamed.between(wrote, read);
  return certain ? Passed::kYes : Passed::kMaybe;
}

}  // namespace tracer::internal
