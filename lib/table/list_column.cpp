// SPDX-License-Identifier: Apache-2.0
#include "table/columns.hpp"

#include <string>
#include <utility>

namespace tracer::internal {

ListColumn::ListColumn(const TableColumn& column) : column_(column), fields_(column.fields.size()) {
  ends_.push_back(0);
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (!is_text(column.fields[i].type)) fields_[i].numbers = make_flat_column(column.fields[i]);
}

void ListColumn::append_null(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) ends_.push_back(static_cast<std::int32_t>(items_));
  validity_.append(false, count);
}

void ListColumn::append(FrameValues& frame, const Section& section, const Origin& origin, std::size_t row) {
  const Column& list = section.columns[origin.column];
  if (list.stored) {
    const auto begin = static_cast<std::size_t>(list.values[row]);
    const auto end = static_cast<std::size_t>(list.values[row + 1]);
    if (begin != end) append_items(frame, section, origin, begin, end);
  }
  ends_.push_back(static_cast<std::int32_t>(items_));
  validity_.append(true, 1);
}

void ListColumn::append_items(FrameValues& frame, const Section& section, const Origin& origin, std::size_t begin,
                              std::size_t end) {
  items_ += end - begin;
  if (fields_.empty()) {
    const Column& list = section.columns[origin.column];
    for (std::size_t i = begin; i < end; ++i) texts_.append(frame.texts()[static_cast<std::size_t>(list.items[i])]);
    return;
  }
  for (std::size_t at = 0; at < fields_.size(); ++at) {
    const Type type = column_.fields[at].type;
    const RowValues values = FrameValues::values_in(section, origin.fields[at], type, begin, end - begin, scratch_);
    if (fields_[at].numbers) {
      fields_[at].numbers->append(values, end - begin);
      continue;
    }
    TextOf text_of(type, column_.fields[at].names);
    for (std::size_t i = 0; i < end - begin; ++i) {
      if (values.none || !values.present(i)) {
        fields_[at].texts.append_null();
      } else {
        fields_[at].texts.append(text_of(values.numbers[i], frame.texts()));
      }
    }
  }
}

std::size_t ListColumn::text_bytes() const noexcept {
  std::size_t bytes = texts_.bytes() + sizeof(std::uint64_t) * items_;
  for (const Field& field : fields_) bytes += field.texts.bytes();
  return bytes;
}

OwnedArray ListColumn::take(const Memory& zeros) {
  OwnedArray items;
  if (fields_.empty()) {
    items = texts_.take();
  } else {
    const Memory item_zeros = zero_memory(sizeof(std::uint64_t) * (items_ + 1));
    std::vector<OwnedArray> fields;
    for (Field& field : fields_) fields.push_back(field.numbers ? field.numbers->take(item_zeros) : field.texts.take());
    items = make_array(items_, 0, {nullptr}, std::move(fields));
  }
  const Validity::Taken taken = validity_.take(zeros);
  std::vector<OwnedArray> children;
  children.push_back(std::move(items));
  OwnedArray array = make_array(taken.rows, taken.nulls, {taken.bits, ends_.take()}, std::move(children));
  items_ = 0;
  ends_.push_back(0);
  return array;
}

OwnedSchema schema_of(const TableColumn& column) {
  std::vector<OwnedSchema> children;
  if (!column.fields.empty()) {
    std::vector<OwnedSchema> fields;
    for (const TableColumn& field : column.fields)
      fields.push_back(is_text(field.type) ? make_schema("u", field.name, field.nullable) : schema_of(field));
    children.push_back(make_schema("+s", "item", column.null_items, std::move(fields)));
    return make_schema("+l", column.name, column.nullable, std::move(children));
  }
  switch (column.type) {
    case Type::kBool: return make_schema("b", column.name, column.nullable);
    case Type::kI32: return make_schema("i", column.name, column.nullable);
    case Type::kI64: return make_schema("l", column.name, column.nullable);
    case Type::kU32: return make_schema("I", column.name, column.nullable);
    case Type::kU64: return make_schema("L", column.name, column.nullable);
    case Type::kTexts:
      children.push_back(make_schema("u", "item", column.null_items));
      return make_schema("+l", column.name, column.nullable, std::move(children));
    default: return make_dictionary_schema(column.name, column.nullable);
  }
}

OwnedSchema schema_of(const TableLayout& layout) {
  std::vector<OwnedSchema> columns;
  for (const TableColumn& column : layout.columns) columns.push_back(schema_of(column));
  return make_schema("+s", "", false, std::move(columns));
}

}  // namespace tracer::internal
