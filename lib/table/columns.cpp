// SPDX-License-Identifier: Apache-2.0
#include "table/columns.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tracer::internal {
namespace {

/// `kClamped`: see TableColumn.
template <class T, bool kClamped = false>
class NumberColumn final : public FlatColumn {
 protected:
  void reserve(std::size_t rows) override { data_.reserve(rows); }
  void write_zeros(std::size_t count) override { data_.fill(count); }
  void write(const RowValues& values, std::size_t count) override {
    T* const to = data_.extend(count);
    if constexpr (sizeof(T) == sizeof(std::uint64_t) && !kClamped) {
      std::memcpy(to, values.numbers.data(), count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = made(values.numbers[i]);
    }
  }
  void write_at(std::size_t row, std::uint64_t number) override { data_[row] = made(number); }
  Memory take_data() override { return data_.take(); }

 private:
  static T made(std::uint64_t number) noexcept {
    if constexpr (kClamped) number = std::min<std::uint64_t>(number, std::numeric_limits<T>::max());
    return static_cast<T>(number);
  }

  Buffer<T> data_;
};

class BoolColumn final : public FlatColumn {
 protected:
  void reserve(std::size_t rows) override { bits_.reserve(rows); }
  void write_zeros(std::size_t count) override { bits_.fill(false, count); }
  void write(const RowValues& values, std::size_t count) override {
    const std::size_t before = bits_.size();
    bits_.fill(false, count);
    for (std::size_t i = 0; i < count; ++i)
      if (values.numbers[i] != 0) bits_.set(before + i);
  }
  void write_at(std::size_t row, std::uint64_t number) override {
    if (number != 0) bits_.set(row);
  }
  Memory take_data() override { return bits_.take(); }

 private:
  Bits bits_;
};

class DictionaryColumn final : public FlatColumn {
 public:
  explicit DictionaryColumn(TextOf text_of) : text_of_(std::move(text_of)) {}

  void open_frame(std::span<const std::string_view> texts) override {
    texts_ = texts;
    if (text_of_.type() == Type::kText) index_of_.clear();
  }
  std::size_t text_bytes() const noexcept override { return dictionary_.bytes(); }

 protected:
  void reserve(std::size_t rows) override { data_.reserve(rows); }
  void write_zeros(std::size_t count) override { data_.fill(count); }
  void write(const RowValues& values, std::size_t count) override {
    std::int32_t* const to = data_.extend(count);
    for (std::size_t i = 0; i < count; ++i) to[i] = values.present(i) ? index(values.numbers[i]) : 0;
  }
  void write_at(std::size_t row, std::uint64_t number) override { data_[row] = index(number); }
  Memory take_data() override { return data_.take(); }
  OwnedArray take_dictionary() override {
    // Consumers look up the number of a null row, too.
    if (dictionary_.rows() == 0) dictionary_.append("");
    known_.clear();
    index_of_.clear();
    index_of_key_.clear();
    return dictionary_.take();
  }

 private:
  static constexpr std::int32_t kUnknown = -1;

  std::int32_t index(std::uint64_t number) {
    if (text_of_.type() == Type::kKey) {
      const auto [at, fresh] = index_of_key_.try_emplace(number, 0);
      if (fresh) at->second = find(text_of_(number, texts_));
      return at->second;
    }
    if (number == kEmptyText) return find("");
    const auto at = static_cast<std::size_t>(number);
    if (at >= index_of_.size()) index_of_.resize(std::max(at + 1, texts_.size()), kUnknown);
    std::int32_t& known = index_of_[at];
    if (known == kUnknown) known = find(text_of_(number, texts_));
    return known;
  }
  std::int32_t find(std::string_view text) {
    const auto found = known_.find_or_make(std::hash<std::string_view>()(text),
                                           [&](std::uint32_t other) { return dictionary_.text(other) == text; });
    if (found.made) dictionary_.append(text);
    return static_cast<std::int32_t>(found.number);
  }

  TextOf text_of_;
  Buffer<std::int32_t> data_;
  std::span<const std::string_view> texts_;
  std::vector<std::int32_t> index_of_;  ///< By the number of a text in this frame, or of an enumeration's value.
  std::unordered_map<std::uint64_t, std::int32_t> index_of_key_;
  HashIndex known_;
  TextColumn dictionary_;
};

}  // namespace

void Validity::append(bool valid, std::size_t count) {
  if (valid && !any_) begin();
  if (!valid && any_) use_bits();
  if (has_bits_) bits_.fill(valid, count);
  rows_ += count;
}

void Validity::append(const RowValues& values, std::size_t count) {
  if (values.none || values.bits == nullptr) return append(!values.none, count);
  begin();
  use_bits();
  bits_.append(values.bits, values.first_bit, count);
  rows_ += count;
}

void Validity::set(std::size_t row) { bits_.set(row); }

bool Validity::begin() {
  if (any_) return false;
  any_ = true;
  if (rows_ != 0) {
    has_bits_ = true;
    bits_.fill(false, rows_);
  }
  return true;
}

void Validity::use_bits() {
  if (has_bits_) return;
  has_bits_ = true;
  bits_.fill(true, rows_);
}

Validity::Taken Validity::take(const Memory& zeros) {
  Taken taken{rows_, any_ ? 0 : rows_, nullptr};
  if (!any_ && rows_ != 0) taken.bits = zeros;
  if (has_bits_) {
    taken.nulls = rows_ - bits_.count();
    taken.bits = bits_.take();
  }
  *this = {};
  return taken;
}

void FlatColumn::begin() {
  const std::size_t before = validity_.rows();
  if (!validity_.begin()) return;
  reserve(std::max(rows_before_, before));
  write_zeros(before);
}

void FlatColumn::append_null(std::size_t count) {
  if (validity_.any()) write_zeros(count);
  validity_.append(false, count);
}

void FlatColumn::append(const RowValues& values, std::size_t count) {
  if (values.none) return append_null(count);
  begin();
  write(values, count);
  validity_.append(values, count);
}

void FlatColumn::put(const RowValues& values, std::span<const std::uint32_t> rows) {
  if (values.none || rows.empty()) return;
  begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!values.present(i)) continue;
    write_at(rows[i], values.numbers[i]);
    validity_.set(rows[i]);
  }
}

OwnedArray FlatColumn::take(const Memory& zeros) {
  const bool any = validity_.any();
  const Validity::Taken taken = validity_.take(zeros);
  rows_before_ = taken.rows;
  return make_array(taken.rows, taken.nulls, {taken.bits, any ? take_data() : zeros}, {}, take_dictionary());
}

void TextColumn::append(std::string_view text) {
  bytes_.append(std::span(text.data(), text.size()));
  ends_.push_back(static_cast<std::int32_t>(bytes_.size()));
  validity_.append(true, 1);
}

void TextColumn::append_null() {
  ends_.push_back(static_cast<std::int32_t>(bytes_.size()));
  validity_.append(false, 1);
}

OwnedArray TextColumn::take() {
  const Validity::Taken taken = validity_.take(zero_memory(validity_.rows() / 8 + 1));
  OwnedArray array = make_array(taken.rows, taken.nulls, {taken.bits, ends_.take(), bytes_.take()});
  ends_.push_back(0);
  return array;
}

std::string_view TextOf::operator()(std::uint64_t number, std::span<const std::string_view> texts) {
  if (type_ == Type::kEnum) return names_(number);
  if (type_ == Type::kKey) return digits_ = to_string(Key{number});
  return number == kEmptyText ? std::string_view("") : texts[static_cast<std::size_t>(number)];
}

bool is_list(const TableColumn& column) noexcept { return !column.fields.empty() || column.type == Type::kTexts; }

bool is_text(Type type) noexcept { return type == Type::kText || type == Type::kEnum || type == Type::kKey; }

std::unique_ptr<FlatColumn> make_flat_column(const TableColumn& column) {
  switch (column.type) {
    case Type::kBool: return std::make_unique<BoolColumn>();
    case Type::kI32: return std::make_unique<NumberColumn<std::int32_t>>();
    case Type::kI64:
      if (column.clamped) return std::make_unique<NumberColumn<std::int64_t, true>>();
      return std::make_unique<NumberColumn<std::int64_t>>();
    case Type::kU32: return std::make_unique<NumberColumn<std::uint32_t>>();
    case Type::kU64: return std::make_unique<NumberColumn<std::uint64_t>>();
    default: return std::make_unique<DictionaryColumn>(TextOf(column.type, column.names));
  }
}

}  // namespace tracer::internal
