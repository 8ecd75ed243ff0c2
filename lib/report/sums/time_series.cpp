// SPDX-License-Identifier: Apache-2.0
#include "report/sums/time_series.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

using Values = std::vector<std::uint64_t>;

std::uint64_t& at(Values& values, std::size_t part) {
  if (values.size() <= part) values.resize(part + 1);
  return values[part];
}

template <class Join>
void halve(Values& values, Join join) {
  for (std::size_t i = 0; i < values.size(); i += 2)
    values[i / 2] = i + 1 < values.size() ? join(values[i], values[i + 1]) : values[i];
  values.resize((values.size() + 1) / 2);
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a + b; }
std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return std::max(a, b); }

constexpr SeriesValues kSums[] = {&Series::cpu_ns,        &Series::lived_ns,       &Series::read_bytes,
                                  &Series::written_bytes, &Series::received_bytes, &Series::sent_bytes,
                                  &Series::io_wait_ns};
constexpr SeriesValues kMost[] = {&Series::memory_bytes, &Series::tasks};

void halve(Series& series) {
  for (const SeriesValues kind : kSums) halve(series.*kind, sum);
  for (const SeriesValues kind : kMost) halve(series.*kind, larger);
}

void add(Values& to, const Values& from) {
  for (std::size_t i = 0; i < from.size(); ++i) at(to, i) += from[i];
}

void add(std::optional<Series>& to, const Series& from) {
  if (!to) to.emplace();
  to->cpu_ns_sum += from.cpu_ns_sum;
  for (const SeriesValues kind : kSums) add((*to).*kind, from.*kind);
  for (const SeriesValues kind : kMost) add((*to).*kind, from.*kind);
}

bool has_less(const Series& a, const Series& b) { return a.cpu_ns_sum < b.cpu_ns_sum; }

}  // namespace

void TimeSeries::begin(std::uint64_t time_ns) {
  if (!begin_ns_) begin_ns_ = time_ns;
}

void TimeSeries::reach(std::uint64_t offset_ns) {
  while (offset_ns / part_ns_ >= kMostParts) {
    part_ns_ *= 2;
    parts_ = (parts_ + 1) / 2;
    for (auto& [key, series] : rows_) halve(series);
    if (others_) halve(*others_);
    std::vector<bool> joined((has_snapshot_.size() + 1) / 2);
    for (std::size_t i = 0; i < has_snapshot_.size(); ++i)
      if (has_snapshot_[i]) joined[i / 2] = true;
    has_snapshot_ = std::move(joined);
  }
  parts_ = std::max(parts_, static_cast<std::size_t>(offset_ns / part_ns_) + 1);
}

std::optional<TimeSeries::Span> TimeSeries::span(std::uint64_t from_ns, std::uint64_t to_ns) {
  begin(from_ns);
  if (to_ns < from_ns || to_ns < *begin_ns_) return std::nullopt;
  const std::uint64_t last = to_ns - *begin_ns_;
  reach(last);
  return Span{static_cast<std::size_t>((std::max(from_ns, *begin_ns_) - *begin_ns_) / part_ns_),
              static_cast<std::size_t>(last / part_ns_)};
}

Series& TimeSeries::row(const std::string& key, const std::string& name) {
  const auto known = rows_.find(key);
  if (known != rows_.end()) return known->second;
  if (rows_.size() >= kMostRows) {
    const auto least = std::min_element(rows_.begin(), rows_.end(),
                                        [](const auto& a, const auto& b) { return has_less(a.second, b.second); });
    add(others_, least->second);
    rows_.erase(least);
  }
  Series& series = rows_[key];
  series.name = name;
  return series;
}

/// Calls add(part, its share of the amount, how long it lived in it); the shares sum to the amount.
template <class Add>
void TimeSeries::each_part(const Span& parts, std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t amount,
                           const Add& add) const {
  const auto length = static_cast<long double>(to_ns - from_ns);
  // What has come about up to a time.
  const auto up_to = [&](std::uint64_t time_ns) {
    if (time_ns >= to_ns) return amount;
    return static_cast<std::uint64_t>(static_cast<long double>(amount) * static_cast<long double>(time_ns - from_ns) /
                                      length);
  };
  std::uint64_t from = std::max(from_ns, *begin_ns_);
  std::uint64_t before = from > from_ns ? up_to(from) : 0;
  for (std::size_t i = parts.first; i <= parts.last; ++i) {
    // The end of the last part may be beyond what the type holds.
    const std::uint64_t to = i == parts.last ? to_ns : *begin_ns_ + (i + 1) * part_ns_;
    const std::uint64_t after = i == parts.last ? amount : up_to(to);
    add(i, after - before, to - from);
    from = to;
    before = after;
  }
}

void TimeSeries::use(const std::string& key, const std::string& name, std::uint64_t from_ns, std::uint64_t to_ns,
                     std::uint64_t cpu_ns) {
  const auto parts = span(from_ns, to_ns);
  if (!parts) return;
  Series& series = row(key, name);
  each_part(*parts, from_ns, to_ns, cpu_ns, [&](std::size_t part, std::uint64_t share, std::uint64_t lived_ns) {
    at(series.cpu_ns, part) += share;
    at(series.lived_ns, part) += lived_ns;
    series.cpu_ns_sum += share;
  });
}

void TimeSeries::spread(const std::string& key, SeriesValues kind, std::uint64_t from_ns, std::uint64_t to_ns,
                        std::uint64_t amount) {
  const auto parts = span(from_ns, to_ns);
  if (!parts) return;
  Series& series = row(key, key);
  each_part(*parts, from_ns, to_ns, amount,
            [&](std::size_t part, std::uint64_t share, std::uint64_t) { at(series.*kind, part) += share; });
}

void TimeSeries::hold(const std::string& key, const std::string& name, std::uint64_t from_ns, std::uint64_t to_ns,
                      std::uint64_t bytes, SeriesValues kind) {
  const auto parts = span(from_ns, to_ns);
  if (!parts) return;
  Series& series = row(key, name);
  for (std::size_t i = parts->first; i <= parts->last; ++i) {
    std::uint64_t& most = at(series.*kind, i);
    most = std::max(most, bytes);
  }
}

void TimeSeries::snapshot(std::uint64_t time_ns) {
  const auto parts = span(time_ns, time_ns);
  if (!parts) return;
  if (has_snapshot_.size() <= parts->last) has_snapshot_.resize(parts->last + 1);
  has_snapshot_[parts->last] = true;
}

/// Where it lived, but no snapshot was taken in the part.
void TimeSeries::fill_memory(Series& series) const {
  series.cpu_ns.resize(parts_);
  series.lived_ns.resize(parts_);
  series.memory_bytes.resize(parts_);
  std::uint64_t later = 0;
  for (std::size_t i = parts_; i-- > 0;) {
    if (i < has_snapshot_.size() && has_snapshot_[i]) {
      later = series.memory_bytes[i];
    } else if (series.lived_ns[i] != 0) {
      series.memory_bytes[i] = std::max(series.memory_bytes[i], later);
    }
  }
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < parts_; ++i) {
    if (series.lived_ns[i] == 0) before = 0;
    if (series.memory_bytes[i] == 0 && series.lived_ns[i] != 0) series.memory_bytes[i] = before;
    before = series.memory_bytes[i];
  }
}

std::vector<Series> TimeSeries::rows(std::size_t most) const {
  std::vector<Series> rows;
  for (const auto& [key, series] : rows_) rows.push_back(series);
  std::stable_sort(rows.begin(), rows.end(), [](const Series& a, const Series& b) { return has_less(b, a); });
  std::optional<Series> others = others_;
  for (std::size_t i = most; i < rows.size(); ++i) add(others, rows[i]);
  rows.resize(std::min(most, rows.size()));
  if (others) rows.push_back(std::move(*others));
  for (Series& series : rows) fill_memory(series);
  return rows;
}

}  // namespace tracer::internal
