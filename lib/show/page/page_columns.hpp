// SPDX-License-Identifier: Apache-2.0
/// Columns of the tables in a page: texts, each different one once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "report/json_builder.hpp"
#include "report/time_shares.hpp"

namespace tracer::internal {

/// What the script of a page knows a column by.
struct PageColumnLook {
  std::string title;
  const char* kind = "text";  ///< "name", "text", "number" or "where".
  std::string width;          ///< As of a grid in CSS.
  unsigned least_px = 0;      ///< What it needs of that.
  bool searched = false;
  bool marks = false;  ///< Failures stand out in it.
};

class PageColumn {
 public:
  explicit PageColumn(PageColumnLook look) : look_(std::move(look)) {}

  void add(const std::string& text) {
    const auto [known, fresh] = known_.try_emplace(text, words_.size());
    if (fresh) words_.push_back(text);
    at_.push_back(known->second);
  }
  /// `sort`: what it is ordered by; absent comes last.
  void add(const std::string& text, std::optional<double> sort) {
    add(text);
    sort_.push_back(sort);
  }
  /// `parts`: of the bar; causes and their thousandths in turn.
  void add(const std::string& text, std::vector<unsigned> parts) {
    add(text);
    parts_.push_back(std::move(parts));
  }

  unsigned least_px() const noexcept { return look_.least_px; }
  bool says_nothing() const { return words_.empty() || (words_.size() == 1 && words_.front().empty()); }

  void write(JsonBuilder& json) const {
    const std::string_view kind = look_.kind;
    json.object([&] {
      json.put("title", look_.title);
      json.put("kind", kind);
      json.put("width", look_.width);
      json.put("searched", look_.searched);
      json.put("marks", look_.marks);
      json.texts("words", words_);
      json.list("at", at_, [&](std::size_t at) { json.put_value(at); });
      if (kind == "number")
        json.list("sort", sort_, [&](const std::optional<double>& sort) {
          if (sort) {
            json.put_value(*sort);
          } else {
            json.put_null();
          }
        });
      if (kind == "where")
        json.list("parts", parts_, [&](const std::vector<unsigned>& parts) { json.put_list(parts); });
    });
  }

 private:
  PageColumnLook look_;
  std::vector<std::string> words_;
  std::vector<std::size_t> at_;
  std::vector<std::optional<double>> sort_;
  std::vector<std::vector<unsigned>> parts_;
  std::unordered_map<std::string, std::size_t> known_;
};

PageColumnLook fixed_column(std::string title, const char* kind, unsigned px, bool searched = false,
                            bool marks = false);
PageColumnLook growing_column(std::string title, const char* kind, unsigned px, const char* share,
                              bool searched = false);
/// What all need, with the gaps between them.
unsigned width_of_all(const std::vector<PageColumn>& columns);
void write_columns(JsonBuilder& json, const std::vector<PageColumn>& columns);

/// The script's number of its color.
unsigned color_of(TimeCause cause);
unsigned thousandths(double share);
/// The parts of a bar. What can't be seen is left out.
std::vector<unsigned> parts_of(const std::vector<TimeShare>& time);

}  // namespace tracer::internal
