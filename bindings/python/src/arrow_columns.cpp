// SPDX-License-Identifier: Apache-2.0
#include "arrow_columns.hpp"

#include <cstdint>
#include <stdexcept>

namespace py = pybind11;

namespace tracer::python {
namespace {

/// An item of a column as an object of Python. Only what tables have; other arrays never come here.
class Items {
 public:
  Items(const ArrowArray& array, const ArrowSchema& schema) : array_(array), format_(schema.format) {
    if (array.dictionary != nullptr) {
      const Items texts(*array.dictionary, *schema.dictionary);
      for (std::int64_t i = 0; i < array.dictionary->length; ++i) texts_.push_back(texts.at(i));
    }
    for (std::int64_t i = 0; i < array.n_children; ++i) {
      children_.emplace_back(*array.children[i], *schema.children[i]);
      names_.push_back(py::str(schema.children[i]->name));
    }
  }

  py::object at(std::int64_t row) const {
    if (is_null(row)) return py::none();
    if (array_.dictionary != nullptr) return texts_[static_cast<std::size_t>(numbers<std::int32_t>()[row])];
    if (format_ == "+s") return struct_at(row);
    if (format_ == "+l") return list_at(row);
    switch (format_.front()) {
      case 'L': return py::int_(numbers<std::uint64_t>()[row]);
      case 'I': return py::int_(numbers<std::uint32_t>()[row]);
      case 'i': return py::int_(numbers<std::int32_t>()[row]);
      case 'b': return py::bool_((numbers<std::uint8_t>()[row / 8] >> (row % 8) & 1) != 0);
      default: return text_at(row);
    }
  }

 private:
  template <class T>
  const T* numbers() const {
    return static_cast<const T*>(array_.buffers[1]);
  }
  bool is_null(std::int64_t row) const {
    const auto* const bits = static_cast<const std::uint8_t*>(array_.buffers[0]);
    return bits != nullptr && (bits[row / 8] >> (row % 8) & 1) == 0;
  }
  py::object text_at(std::int64_t row) const {
    const auto* const ends = numbers<std::int32_t>();
    const auto* const bytes = static_cast<const char*>(array_.buffers[2]);
    return py::str(bytes + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row]));
  }
  py::object list_at(std::int64_t row) const {
    const auto* const ends = numbers<std::int32_t>();
    py::list items;
    for (std::int32_t i = ends[row]; i < ends[row + 1]; ++i) items.append(children_.front().at(i));
    return items;
  }
  py::object struct_at(std::int64_t row) const {
    py::dict fields;
    for (std::size_t i = 0; i < children_.size(); ++i) fields[names_[i]] = children_[i].at(row);
    return fields;
  }

  const ArrowArray& array_;
  std::string_view format_;
  std::vector<py::object> texts_;
  std::vector<Items> children_;
  std::vector<py::str> names_;
};

}  // namespace

py::object ArrowColumn::validity() const {
  if (array_->buffers[0] == nullptr) return py::none();
  return py::cast(ColumnBuffer{owner_, array_->buffers[0], static_cast<std::size_t>(array_->length + 7) / 8, 1, "B"});
}

ColumnBuffer ArrowColumn::numbers() const {
  const auto rows = static_cast<std::size_t>(array_->length);
  switch (schema_->format[0]) {
    case 'L': return {owner_, array_->buffers[1], rows, 8, py::format_descriptor<std::uint64_t>::format()};
    case 'I': return {owner_, array_->buffers[1], rows, 4, py::format_descriptor<std::uint32_t>::format()};
    case 'i': return {owner_, array_->buffers[1], rows, 4, py::format_descriptor<std::int32_t>::format()};
    case 'b': return {owner_, array_->buffers[1], (rows + 7) / 8, 1, "B"};
    default: throw py::type_error("a column without numbers");
  }
}

py::list ArrowColumn::dictionary() const {
  if (!has_dictionary()) throw py::type_error("a column without a dictionary");
  return ArrowColumn(owner_, schema_owner_, *array_->dictionary, *schema_->dictionary).values();
}

py::list ArrowColumn::values() const {
  const Items items(*array_, *schema_);
  py::list all(static_cast<std::size_t>(array_->length));
  for (std::int64_t row = 0; row < array_->length; ++row) all[static_cast<std::size_t>(row)] = items.at(row);
  return all;
}

void bind_columns(py::module_& module) {
  py::class_<ColumnBuffer>(module, "ColumnBuffer", py::buffer_protocol()).def_buffer([](const ColumnBuffer& buffer) {
    return py::buffer_info(const_cast<void*>(buffer.data), static_cast<py::ssize_t>(buffer.item_bytes), buffer.format,
                           1, {static_cast<py::ssize_t>(buffer.count)}, {static_cast<py::ssize_t>(buffer.item_bytes)},
                           true);
  });
  py::class_<ArrowColumn>(module, "ArrowColumn")
      .def_property_readonly("name", &ArrowColumn::name)
      .def_property_readonly("format", &ArrowColumn::format)
      .def_property_readonly("nullable", &ArrowColumn::nullable)
      .def_property_readonly("has_dictionary", &ArrowColumn::has_dictionary)
      .def_property_readonly("nulls", &ArrowColumn::nulls)
      .def("validity", &ArrowColumn::validity)
      .def("numbers", &ArrowColumn::numbers)
      .def("dictionary", &ArrowColumn::dictionary)
      .def("values", &ArrowColumn::values);
}

}  // namespace tracer::python
