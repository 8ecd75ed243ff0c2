// SPDX-License-Identifier: Apache-2.0
/// Reads Arrow's structs as any consumer may, checks what they promise, and shows cells as plain_json.hpp shows values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/arrow.h>

#include "base/utf8.hpp"

namespace arrow_check {

using Row = std::map<std::string, std::string>;

inline void demand(bool good, const std::string& what) {
  if (!good) throw std::runtime_error("arrow: " + what);
}

inline bool valid(const ArrowArray& array, std::int64_t row) {
  const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  return bits == nullptr || ((bits[row / 8] >> (row % 8)) & 1) != 0;
}

template <class T>
const T* buffer(const ArrowArray& array, std::size_t at) {
  return static_cast<const T*>(array.buffers[at]);
}

inline std::string text_at(const ArrowArray& array, std::int64_t row) {
  const auto* const ends = buffer<std::int32_t>(array, 1);
  return {buffer<char>(array, 2) + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row])};
}

/// "null", "12", "true", the text in quotes, "[item,item]", "{name:value,name:value}".
inline std::string cell(const ArrowSchema& schema, const ArrowArray& array, std::int64_t row) {
  const std::string_view format = schema.format;
  if (format != "+s" && !valid(array, row)) return "null";
  if (schema.dictionary != nullptr)
    return cell(*schema.dictionary, *array.dictionary, buffer<std::int32_t>(array, 1)[row]);
  if (format == "L") return std::to_string(buffer<std::uint64_t>(array, 1)[row]);
  if (format == "I") return std::to_string(buffer<std::uint32_t>(array, 1)[row]);
  if (format == "i") return std::to_string(buffer<std::int32_t>(array, 1)[row]);
  if (format == "b") return ((buffer<std::uint8_t>(array, 1)[row / 8] >> (row % 8)) & 1) != 0 ? "true" : "false";
  if (format == "u") return '"' + text_at(array, row) + '"';
  const bool is_list = format == "+l";
  demand(is_list || format == "+s", "an unknown format " + std::string(format));
  std::string out;
  const auto* const ends = is_list ? buffer<std::int32_t>(array, 1) : nullptr;
  for (std::int64_t i = is_list ? ends[row] : 0; i < (is_list ? ends[row + 1] : array.n_children); ++i) {
    const std::int64_t child = is_list ? 0 : i;
    if (!out.empty()) out += ',';
    if (!is_list) out += std::string(schema.children[child]->name) + ':';
    out += cell(*schema.children[child], *array.children[child], is_list ? i : row);
  }
  return is_list ? '[' + out + ']' : '{' + out + '}';
}

/// Throws what is wrong with `array`.
inline void check(const ArrowSchema& schema, const ArrowArray& array) {
  const std::string_view format = schema.format;
  const std::string name = schema.name;
  demand(schema.release != nullptr && array.release != nullptr, name + " is released");
  demand(schema.n_children == array.n_children, name + ": children differ");
  demand((schema.dictionary != nullptr) == (array.dictionary != nullptr), name + ": a dictionary is missing");
  demand(array.n_buffers == (format == "+s" ? 1 : format == "u" ? 3 : 2), name + ": number of buffers");
  std::int64_t nulls = 0;
  for (std::int64_t row = 0; row < array.length; ++row) nulls += valid(array, row) ? 0 : 1;
  demand(nulls == array.null_count, name + ": count of nulls");
  demand(nulls == 0 || (schema.flags & ARROW_FLAG_NULLABLE) != 0, name + ": a null where none may be");
  for (std::int64_t i = 1; i < array.n_buffers; ++i) demand(array.buffers[i] != nullptr, name + ": no buffer");
  if (format == "u" || format == "+l") {
    const auto* const ends = buffer<std::int32_t>(array, 1);
    demand(ends[0] == 0, name + ": offsets begin at 0");
    for (std::int64_t row = 0; row < array.length; ++row) demand(ends[row] <= ends[row + 1], name + ": offsets");
    if (format == "+l") demand(ends[array.length] == array.children[0]->length, name + ": items");
  }
  for (std::int64_t row = 0; format == "u" && row < array.length; ++row) {
    const std::string text = text_at(array, row);
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(tracer::internal::utf8_length(rest)))
      demand(tracer::internal::utf8_length(rest) != 0, name + ": no UTF-8");
  }
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    if (format == "+s") demand(array.children[i]->length == array.length, name + ": lengths of columns");
    check(*schema.children[i], *array.children[i]);
  }
  if (array.dictionary == nullptr) return;
  check(*schema.dictionary, *array.dictionary);
  for (std::int64_t row = 0; row < array.length; ++row) {
    const std::int32_t index = buffer<std::int32_t>(array, 1)[row];
    demand(index >= 0 && index < array.dictionary->length, name + ": beyond the dictionary");
  }
}

inline std::vector<Row> rows_of(const ArrowSchema& schema, const ArrowArray& array) {
  check(schema, array);
  std::vector<Row> rows(static_cast<std::size_t>(array.length));
  for (std::int64_t i = 0; i < schema.n_children; ++i)
    for (std::int64_t row = 0; row < array.length; ++row)
      rows[static_cast<std::size_t>(row)][schema.children[i]->name] =
          cell(*schema.children[i], *array.children[i], row);
  return rows;
}

/// What a stream gives until its end, or until it fails.
struct Whole {
  std::vector<Row> rows;
  std::vector<std::size_t> batches;  ///< Rows of each.
  int error = 0;
};

/// Releases the stream before it looks at its last array.
inline Whole read(ArrowArrayStream& stream) {
  Whole whole;
  ArrowSchema schema{};
  demand(stream.get_schema(&stream, &schema) == 0, "no schema");
  std::vector<ArrowArray> arrays;
  for (;;) {
    ArrowArray array{};
    whole.error = stream.get_next(&stream, &array);
    if (whole.error != 0 || array.release == nullptr) break;
    arrays.push_back(array);
  }
  if (whole.error == 0) stream.release(&stream);
  for (ArrowArray& array : arrays) {
    whole.batches.push_back(static_cast<std::size_t>(array.length));
    for (Row& row : rows_of(schema, array)) whole.rows.push_back(std::move(row));
    array.release(&array);
  }
  schema.release(&schema);
  return whole;
}

}  // namespace arrow_check
