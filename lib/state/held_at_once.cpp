// SPDX-License-Identifier: Apache-2.0
#include "state/held_at_once.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace tracer::internal {

void HeldAtOnce::add(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::size_t first = split(begin_ns);
  // What ends as another begins has given its memory back: a program that executes the next.
  const std::size_t behind = split(std::max(begin_ns + 1, end_ns));
  for (std::size_t i = first; i < behind; ++i) {
    // What a recording says may be any number.
    spans_[i].bytes += std::min(bytes, std::numeric_limits<std::uint64_t>::max() - spans_[i].bytes);
    most_bytes_ = std::max(most_bytes_, spans_[i].bytes);
  }
  if (spans_.size() > kMostSpans) halve();
}

void HeldAtOnce::add(const HeldAtOnce& other) {
  for (std::size_t i = 0; i + 1 < other.spans_.size(); ++i)
    add(other.spans_[i].begin_ns, other.spans_[i + 1].begin_ns, other.spans_[i].bytes);
}

/// The place of the span that begins at this time; what lay across it is cut there.
std::size_t HeldAtOnce::split(std::uint64_t at_ns) {
  const auto at = std::lower_bound(spans_.begin(), spans_.end(), at_ns,
                                   [](const Span& span, std::uint64_t time_ns) { return span.begin_ns < time_ns; });
  const auto place = static_cast<std::size_t>(at - spans_.begin());
  if (at != spans_.end() && at->begin_ns == at_ns) return place;
  const std::uint64_t bytes = at == spans_.begin() ? 0 : std::prev(at)->bytes;
  spans_.insert(at, {at_ns, bytes});
  return place;
}

void HeldAtOnce::halve() {
  std::vector<Span> fewer;
  // The last one, of nothing, stays by itself.
  for (std::size_t i = 0; i + 1 < spans_.size(); i += 2) {
    const bool pair = i + 2 < spans_.size();
    fewer.push_back({spans_[i].begin_ns, pair ? std::max(spans_[i].bytes, spans_[i + 1].bytes) : spans_[i].bytes});
  }
  fewer.push_back(spans_.back());
  spans_ = std::move(fewer);
}

}  // namespace tracer::internal
