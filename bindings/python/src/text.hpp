// SPDX-License-Identifier: Apache-2.0
/// Texts of files, paths and the kernel may hold any bytes: in Python they are str with surrogateescape.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <string_view>

namespace tracer::python {

/// A new reference; null with Python's exception set when memory is missing. Needs the GIL.
inline PyObject* new_text(std::string_view bytes) noexcept {
  return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
}

inline pybind11::str text_of(std::string_view bytes) {
  PyObject* text = new_text(bytes);
  if (text == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(text);
}

/// The bytes of a str, bytes or os.PathLike; TypeError for anything else. Needs the GIL.
std::string bytes_of(pybind11::handle text);

/// Likewise; None is absent.
std::optional<std::string> maybe_bytes_of(pybind11::handle text);

}  // namespace tracer::python
