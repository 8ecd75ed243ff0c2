// SPDX-License-Identifier: Apache-2.0
/// The columns of a batch while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stream/hash_index.hpp"
#include "table/arrow_nodes.hpp"
#include "table/frame_values.hpp"

namespace tracer::internal {

/// Which rows have a value. Costs nothing while all have, or none has.
class Validity {
 public:
  std::size_t rows() const noexcept { return rows_; }
  /// True once some row has a value.
  bool any() const noexcept { return any_; }
  void append(bool valid, std::size_t count);
  void append(const RowValues& values, std::size_t count);
  /// Of a row that was appended as null.
  void set(std::size_t row);
  /// Rows without a value are known by bits from now on. False: that was so already.
  bool begin();

  struct Taken {
    std::size_t rows = 0;
    std::size_t nulls = 0;
    Memory bits;  ///< Null without nulls.
  };
  Taken take(const Memory& zeros);

 private:
  void use_bits();

  std::size_t rows_ = 0;
  bool any_ = false;
  bool has_bits_ = false;
  Bits bits_;
};

/// A column with one number a row. Takes no memory until a row has a value.
class FlatColumn {
 public:
  virtual ~FlatColumn() = default;

  virtual void open_frame(std::span<const std::string_view> /*texts*/) {}
  void append_null(std::size_t count);
  void append(const RowValues& values, std::size_t count);
  /// Some row has a value.
  bool any() const noexcept { return validity_.any(); }
  /// Into rows that were appended as null.
  void put(const RowValues& values, std::span<const std::uint32_t> rows);
  /// Begins anew. `zeros` has 8 bytes for each row.
  OwnedArray take(const Memory& zeros);
  virtual std::size_t text_bytes() const noexcept { return 0; }

 protected:
  virtual void reserve(std::size_t rows) = 0;
  virtual void write_zeros(std::size_t count) = 0;
  virtual void write(const RowValues& values, std::size_t count) = 0;
  virtual void write_at(std::size_t row, std::uint64_t number) = 0;
  virtual Memory take_data() = 0;
  virtual OwnedArray take_dictionary() { return {}; }

 private:
  void begin();

  Validity validity_;
  std::size_t rows_before_ = 0;  ///< Of the batch before: as many are likely to come again.
};

/// UTF-8 without a dictionary: those in lists, and of hosts.
class TextColumn {
 public:
  TextColumn() { ends_.push_back(0); }
  void append(std::string_view text);
  void append_null();
  OwnedArray take();
  std::size_t bytes() const noexcept { return bytes_.size(); }
  std::size_t rows() const noexcept { return validity_.rows(); }
  std::string_view text(std::size_t row) const noexcept {
    const auto begin = static_cast<std::size_t>(ends_[row]);
    return {bytes_.data() + begin, static_cast<std::size_t>(ends_[row + 1]) - begin};
  }

 private:
  Validity validity_;
  Buffer<std::int32_t> ends_;  ///< And a 0 in front.
  Buffer<char> bytes_;
};

/// How the numbers of a column that is shown as text become texts.
class TextOf {
 public:
  TextOf(Type type, NameOf names) noexcept : type_(type), names_(names) {}

  Type type() const noexcept { return type_; }
  /// Valid until the next call.
  std::string_view operator()(std::uint64_t number, std::span<const std::string_view> texts);

 private:
  Type type_;
  NameOf names_;
  std::string digits_;
};

/// Lists of texts or of structs.
class ListColumn {
 public:
  explicit ListColumn(const TableColumn& column);

  void append_null(std::size_t count);
  /// The list at `row` of `section`.
  void append(FrameValues& frame, const Section& section, const Origin& origin, std::size_t row);
  OwnedArray take(const Memory& zeros);
  bool any() const noexcept { return validity_.any(); }
  std::size_t text_bytes() const noexcept;

 private:
  void append_items(FrameValues& frame, const Section& section, const Origin& origin, std::size_t begin,
                    std::size_t end);

  const TableColumn& column_;
  Validity validity_;
  Buffer<std::int32_t> ends_;
  std::size_t items_ = 0;
  TextColumn texts_;
  /// Of structs, for each field one of the two.
  struct Field {
    std::unique_ptr<FlatColumn> numbers;
    TextColumn texts;
  };
  std::vector<Field> fields_;
  Scratch scratch_;
};

bool is_list(const TableColumn& column) noexcept;
bool is_text(Type type) noexcept;  ///< Shown as text: enumerations and keys are, too.
std::unique_ptr<FlatColumn> make_flat_column(const TableColumn& column);
OwnedSchema schema_of(const TableColumn& column);
/// Of the struct that a batch is.
OwnedSchema schema_of(const TableLayout& layout);

}  // namespace tracer::internal
