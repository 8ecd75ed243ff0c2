// SPDX-License-Identifier: Apache-2.0
/// What rows of something consumed, moved and held over time, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tracer::internal {

/// One row; each vector has a value for each part of the time, as far as there are any.
struct Series {
  std::string name;
  std::uint64_t cpu_ns_sum = 0;
  std::vector<std::uint64_t> cpu_ns;        ///< Consumed in the part.
  std::vector<std::uint64_t> lived_ns;      ///< How long its processes lived in the part, added up.
  std::vector<std::uint64_t> memory_bytes;  ///< The most that was held in the part.
  std::vector<std::uint64_t> read_bytes;    ///< In the part, as the next four.
  std::vector<std::uint64_t> written_bytes;
  std::vector<std::uint64_t> received_bytes;
  std::vector<std::uint64_t> sent_bytes;
  std::vector<std::uint64_t> io_wait_ns;
  std::vector<std::uint64_t> tasks;  ///< The most that ran at once in the part.
};
using SeriesValues = std::vector<std::uint64_t> Series::*;

/// Parts of equal length, which doubles whenever time has gone beyond the last one. Of more than kMostRows rows those
/// with the least CPU time become one. Times before the first one given to begin() are left out.
class TimeSeries {
 public:
  static constexpr std::size_t kMostParts = 400;
  static constexpr std::size_t kMostRows = 256;

  /// The first call counts.
  void begin(std::uint64_t time_ns);
  /// Spreads `cpu_ns` evenly over [from, to).
  void use(const std::string& key, const std::string& name, std::uint64_t from_ns, std::uint64_t to_ns,
           std::uint64_t cpu_ns);
  /// Spreads an amount of one kind evenly over [from, to).
  void spread(const std::string& key, SeriesValues kind, std::uint64_t from_ns, std::uint64_t to_ns,
              std::uint64_t amount);
  /// At least `bytes` were held all the time from `from_ns` to `to_ns`.
  void hold(const std::string& key, const std::string& name, std::uint64_t from_ns, std::uint64_t to_ns,
            std::uint64_t bytes, SeriesValues kind = &Series::memory_bytes);
  /// A snapshot at this time has told of all that live; between two of them memory is that of the later one.
  void snapshot(std::uint64_t time_ns);

  std::uint64_t begin_ns() const noexcept { return begin_ns_.value_or(0); }
  std::uint64_t part_ns() const noexcept { return part_ns_; }
  std::size_t parts() const noexcept { return parts_; }
  /// Most CPU first; `most` at most, and behind them one without a name for all others, if there are any.
  std::vector<Series> rows(std::size_t most) const;

 private:
  struct Span {
    std::size_t first;
    std::size_t last;
  };
  std::optional<Span> span(std::uint64_t from_ns, std::uint64_t to_ns);
  void reach(std::uint64_t offset_ns);
  Series& row(const std::string& key, const std::string& name);
  template <class Add>
  void each_part(const Span& parts, std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t amount,
                 const Add& add) const;
  void fill_memory(Series& series) const;

  std::optional<std::uint64_t> begin_ns_;
  std::uint64_t part_ns_ = 1'000'000;
  std::size_t parts_ = 0;
  std::vector<bool> has_snapshot_;
  std::map<std::string, Series> rows_;
  std::optional<Series> others_;
};

}  // namespace tracer::internal
