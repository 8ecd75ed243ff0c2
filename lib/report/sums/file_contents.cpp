// SPDX-License-Identifier: Apache-2.0
#include "report/sums/file_contents.hpp"

#include <algorithm>
#include <limits>
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
};

class Begins {
 public:
  /// In the order in which they were over at the latest.
  explicit Begins(std::vector<Begin> begins) : begins_(std::move(begins)), least_from_ns_(begins_.size()) {
    std::uint64_t least_ns = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = begins_.size(); i-- > 0;)
      least_from_ns_[i] = least_ns = std::min(least_ns, begins_[i].from_ns);
  }

  /// A content before the last that had begun by `from_ns` for certain is gone.
  Range found_within(std::uint64_t from_ns, std::uint64_t to_ns) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), from_ns,
                                       [](std::uint64_t time_ns, const Begin& begin) { return time_ns < begin.to_ns; });
    Range range;
    range.first = next == begins_.begin() ? 0 : static_cast<std::size_t>(next - begins_.begin()) - 1;
    range.last = range.first;
    for (std::size_t i = range.first + 1; i < begins_.size() && least_from_ns_[i] < to_ns; ++i)
      if (begins_[i].from_ns < to_ns) range.last = i;
    return range;
  }

 private:
  std::vector<Begin> begins_;
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

}  // namespace

/// Recordings of before know only what an open made, and how much was written where it was the only one.
ContentUse content_use(const FileUse& use) {
  ContentUse own;
  own.close_ns = use.last_close_ns;
  own.open_from_ns = use.first_open_ns.value_or(std::min(use.process->start_ns, use.last_close_ns));
  own.open_to_ns = use.opens <= 1 && use.first_open_ns ? *use.first_open_ns : use.last_close_ns;
  own.created = use.created;
  const bool wrote_all = use.opens == 1 && use.written_bytes.value_or(0) != 0 && use.written_bytes == use.size_bytes;
  own.begins = use.contents_begun ? *use.contents_begun != 0 : use.created || wrote_all;
  own.reads = use.opened_to_read;
  own.reads_earlier = use.opened_to_read && use.read_earlier_content.value_or(!own.begins);
  own.writes = use.opened_to_write && use.modified_meanwhile.value_or(true);
  own.surely_writes = own.writes && (use.modified_meanwhile.has_value() || !use.contents_begun);
  own.writes_by_time = own.surely_writes && use.contents_begun && !own.begins && use.written_bytes.value_or(0) == 0;
  return own;
}

std::vector<Content> contents_of(const std::vector<ContentUse>& uses) {
  const auto beginners = places_of(uses, &ContentUse::begins, &ContentUse::open_to_ns);
  std::vector<Content> contents;
  std::vector<Begin> begun;
  // One that made the file found nothing in it.
  if (beginners.empty() || !uses[beginners.front()].created) {
    contents.emplace_back();
    begun.push_back({0, 0});
  }
  std::vector<std::size_t> own(uses.size(), uses.size());  // The place of the content that each began.
  for (const std::size_t each : beginners) {
    own[each] = contents.size();
    contents.push_back({true, {{each, true}}, {}, {}});
    begun.push_back({uses[each].open_from_ns, uses[each].open_to_ns});
  }
  const Begins begins(std::move(begun));
  const auto place = [&](std::size_t at, bool certain, std::vector<ContentPart> Content::*list) {
    const Range range = begins.found_within(uses[at].open_from_ns, uses[at].open_to_ns);
    const bool has_own = own[at] >= range.first && own[at] <= range.last;
    certain = certain && range.last - range.first == (has_own ? 1 : 0);
    for (std::size_t i = range.first; i <= range.last; ++i)
      if (i != own[at]) (contents[i].*list).push_back({at, certain});
  };
  const std::vector<bool> alone = are_alone(uses);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ContentUse& use = uses[i];
    // Whoever read what was there before may have read its own as well: that is not known.
    if (use.reads_earlier)
      place(i, true, &Content::readers);
    else if (use.reads && use.begins)
      contents[own[i]].readers.push_back({i, true});
    if (use.writes && !use.begins) place(i, use.surely_writes && (!use.writes_by_time || alone[i]), &Content::writers);
    if (!use.reads && !use.writes) contents[begins.found_within(use.close_ns, use.close_ns).last].others.push_back(i);
  }
  std::erase_if(contents, [](const Content& content) {
    return content.writers.empty() && content.readers.empty() && content.others.empty();
  });
  return contents;
}

Passed passed(const std::vector<ContentUse>& uses, const Content& content, const ContentPart& writer,
              const ContentPart& reader) noexcept {
  const ContentUse& wrote = uses[writer.use];
  const ContentUse& read = uses[reader.use];
  const bool began = content.begun && writer.use == content.writers.front().use;
  if (!began && wrote.open_from_ns >= read.close_ns) return Passed::kNo;
  const bool certain = writer.certain && reader.certain && (began || wrote.close_ns <= read.open_from_ns);
  return certain ? Passed::kYes : Passed::kMaybe;
}

}  // namespace tracer::internal
