// SPDX-License-Identifier: Apache-2.0
/// The columns of a frame that is still open.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stream/column_layout.hpp"
#include "stream/hash_index.hpp"
#include "stream/number_array.hpp"

namespace tracer::internal {

/// One column. A row for which nothing was put is absent.
class ColumnBuilder {
 public:
  /// Room for this many rows; needed before put().
  void reserve(std::size_t rows) {
    if (rows > values_.size()) values_.resize(std::max(rows, 2 * values_.size()));
  }
  void put(std::size_t row, std::uint64_t value) {
    if (count_ != row) mark(row);
    values_[count_++] = value;
  }
  void add_item(std::uint64_t item) { items_.push_back(item); }
  void add_items(std::size_t count) noexcept { item_count_ += count; }

  std::span<const std::uint64_t> values() const noexcept {
    return std::span(values_).first(count_);
  }  ///< Of the rows that have one.
  std::span<const std::uint64_t> items() const noexcept { return items_; }
  /// Of the lists of structs so far.
  std::size_t item_count() const noexcept { return item_count_; }
  /// A bit for each row that has a value, from the lowest, in whole bytes; empty if all have.
  std::span<const std::byte> presence(std::size_t rows);
  void clear() noexcept;

 private:
  void mark(std::size_t row);

  std::vector<std::uint64_t> values_;  ///< Made ahead, as growing in each put() would take most of its time.
  std::size_t count_ = 0;
  Bytes bits_;  ///< Begins with the first gap.
  std::vector<std::uint64_t> items_;
  std::size_t item_count_ = 0;
};

/// The rows of one kind or part.
struct SectionBuilder {
  std::size_t rows = 0;
  std::vector<ColumnBuilder> columns;

  explicit SectionBuilder(std::size_t column_count) : columns(column_count) {}
  /// The row that is written next.
  std::size_t add_row();
  void clear() noexcept;

 private:
  std::size_t room_ = 0;
};

void put_section(Bytes& out, SectionBuilder& section, std::span<const ColumnSpec> specs);

/// All texts of a frame, each once.
class TextTable {
 public:
  std::uint32_t number_of(std::string_view text);
  /// Of all texts, each as often as it was asked for.
  std::size_t referred_bytes() const noexcept { return referred_bytes_; }
  std::size_t stored_bytes() const noexcept { return bytes_.size(); }
  std::size_t size() const noexcept { return index_.size(); }
  void put(Bytes& out) const;
  void clear() noexcept;

 private:
  HashIndex index_;
  std::string bytes_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> sizes_;
  std::size_t referred_bytes_ = 0;
};

/// The parts of one type that a frame refers to. Keeps them alive, as an address is a part's identity in the frame.
template <Part T>
struct PartTable {
  HashIndex index;
  std::vector<std::shared_ptr<const T>> parts;
  SectionBuilder section{column_count<T>()};

  void clear() noexcept {
    index.clear();
    parts.clear();
    section.clear();
  }
};

template <class List>
struct PartTablesOf;
template <class... T>
struct PartTablesOf<TypeList<T...>> {
  using Type = std::tuple<PartTable<T>...>;
};

/// What the columns of a frame refer to.
struct FrameTables {
  TextTable texts;
  std::size_t item_cells = 0;  ///< Numbers in lists, of texts and of structs.
  PartTablesOf<PartTypes>::Type parts;

  template <Part T>
  std::uint32_t number_of(const std::shared_ptr<const T>& part);
};

/// Writes one struct into a row, field by field.
class RowBuilder {
 public:
  RowBuilder(FrameTables& tables, ColumnBuilder* first, std::size_t row) noexcept
      : tables_(tables), next_(first), row_(row) {}

  template <Described T>
  void put(const T& value) {
    each_field<T>([&](const auto& described) { put_member(value.*described.member); });
  }

 private:
  template <class M>
  void put_member(const M& member) {
    if constexpr (Part<Inner<M>>) {
      if (member) next_->put(row_, tables_.number_of(member));
      ++next_;
    } else if constexpr (kIsListOfStructs<M>) {
      put_list(member);
    } else if constexpr (Described<Inner<M>>) {
      if (const auto* group = group_of(member)) {
        put(*group);
      } else {
        next_ += column_count<Inner<M>>();
      }
    } else if constexpr (kIsOptional<M>) {
      if (member) put_value(*member);
      ++next_;
    } else {
      put_value(member);
      ++next_;
    }
  }
  template <Described T>
  void put_list(const std::vector<T>& list) {
    next_->put(row_, list.size());
    for (std::size_t i = 1; i <= column_count<T>(); ++i) next_[i].reserve(next_->item_count() + list.size());
    for (std::size_t i = 0; i < list.size(); ++i) RowBuilder(tables_, next_ + 1, next_->item_count() + i).put(list[i]);
    next_->add_items(list.size());
    tables_.item_cells += list.size() * column_count<T>();
    next_ += 1 + column_count<T>();
  }
  void put_value(bool value) { next_->put(row_, value ? 1 : 0); }
  void put_value(std::int32_t value) { put_value(std::int64_t{value}); }
  void put_value(std::int64_t value) { next_->put(row_, zigzag(static_cast<std::uint64_t>(value))); }
  void put_value(std::uint32_t value) { next_->put(row_, value); }
  void put_value(std::uint64_t value) { next_->put(row_, value); }
  template <class T>
  requires std::is_enum_v<T>
  void put_value(T value) { next_->put(row_, static_cast<std::uint64_t>(value)); }
  void put_value(const std::string& text) { next_->put(row_, tables_.texts.number_of(text)); }
  void put_value(const std::vector<std::string>& texts) {
    next_->put(row_, texts.size());
    for (const std::string& text : texts) next_->add_item(tables_.texts.number_of(text));
    tables_.item_cells += texts.size();
  }

  FrameTables& tables_;
  ColumnBuilder* next_;
  std::size_t row_;
};

template <Part T>
std::uint32_t FrameTables::number_of(const std::shared_ptr<const T>& part) {
  auto& table = std::get<PartTable<T>>(parts);
  const auto address = reinterpret_cast<std::uintptr_t>(part.get());
  const auto found =
      table.index.find_or_make(address, [&](std::uint32_t number) { return table.parts[number] == part; });
  if (found.made) {
    table.parts.push_back(part);
    RowBuilder(*this, table.section.columns.data(), table.section.add_row()).put(*part);
  }
  return found.number;
}

}  // namespace tracer::internal
