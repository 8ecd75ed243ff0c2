// SPDX-License-Identifier: Apache-2.0
/// What Python sees of Arrow's arrays where no other package reads them.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/arrow.h>

namespace tracer::python {

/// Memory of a batch, which it keeps.
struct ColumnBuffer {
  std::shared_ptr<ArrowArray> owner;
  const void* data = nullptr;
  std::size_t count = 0;
  std::size_t item_bytes = 1;
  std::string format;  ///< As Python's struct module has it.
};

class ArrowColumn {
 public:
  /// Of a batch and its schema, which it keeps.
  ArrowColumn(std::shared_ptr<ArrowArray> owner, std::shared_ptr<ArrowSchema> schema_owner, const ArrowArray& array,
              const ArrowSchema& schema)
      : owner_(std::move(owner)), schema_owner_(std::move(schema_owner)), array_(&array), schema_(&schema) {}

  std::string_view name() const { return schema_->name; }
  std::string_view format() const { return schema_->format; }
  bool nullable() const { return (schema_->flags & ARROW_FLAG_NULLABLE) != 0; }
  bool has_dictionary() const { return array_->dictionary != nullptr; }
  std::int64_t nulls() const { return array_->null_count; }
  /// One bit a row, the lowest first; None: all rows have a value.
  pybind11::object validity() const;
  /// The numbers of rows, or of what stands for them in the dictionary. Of bools: one bit a row.
  ColumnBuffer numbers() const;
  /// The texts of a dictionary.
  pybind11::list dictionary() const;
  /// Python's own objects.
  pybind11::list values() const;

 private:
  std::shared_ptr<ArrowArray> owner_;
  std::shared_ptr<ArrowSchema> schema_owner_;
  const ArrowArray* array_;
  const ArrowSchema* schema_;
};

void bind_columns(pybind11::module_& module);

}  // namespace tracer::python
