// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <tracer/report.hpp>

#include "base/json_text.hpp"
#include "report/row_figures.hpp"

namespace tracer::internal {

/// Writes objects in which what is not known is left out.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string& out) : out_(out) {}

  template <class Body>
  void object(const Body& body) {
    out_ += '{';
    first_ = true;
    body();
    out_ += '}';
    first_ = false;
  }
  template <class Body>
  void object(std::string_view name, const Body& body) {
    put(name, [&] { object(body); });
  }
  template <class List, class Item>
  void list(std::string_view name, const List& items, const Item& item) {
    key(name);
    out_ += '[';
    first_ = true;
    for (const auto& each : items) {
      if (!first_) out_ += ',';
      item(each);
      first_ = false;
    }
    out_ += ']';
    first_ = false;
  }

  /// `value`: a function that writes one, or what is written.
  template <class T>
  void put(std::string_view name, const T& value) {
    key(name);
    if constexpr (std::is_invocable_v<T>) {
      value();
    } else {
      put_value(value);
    }
  }
  template <class T>
  void put(std::string_view name, const std::optional<T>& value) {
    if (value) put(name, *value);
  }
  void put(std::string_view name, const Figure& figure) { put(name, std::optional(figure)); }
  void put(std::string_view name, const std::optional<Figure>& figure) {
    KnownFigure<std::uint64_t> value;
    if (figure) value.set(figure->value, figure->bound);
    put(name, value);
  }
  template <class N>
  void put(std::string_view name, const KnownFigure<N>& figure) {
    put(name, figure.exact);
    put(std::string(name) + "_at_least", figure.at_least);
    put(std::string(name) + "_at_most", figure.at_most);
  }
  template <class T>
  void put_list(const std::vector<T>& values) {
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += ',';
      put_value(values[i]);
    }
    out_ += ']';
    first_ = false;
  }
  /// JSON that is written already.
  void put_text(std::string_view name, const std::string& value) {
    put(name, [&] { out_ += value; });
  }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    put(name, [&] { put_list(values); });
  }
  template <class T>
  void put_value(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    } else if constexpr (std::is_same_v<T, Key>) {
      append_json_text(out_, to_string(value));
    } else {
      append_json_text(out_, value);
    }
  }

 private:
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_text(out_, name);
    out_ += ':';
  }

  std::string& out_;
  bool first_ = true;
};

}  // namespace tracer::internal
