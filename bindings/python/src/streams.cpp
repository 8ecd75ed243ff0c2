// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <cerrno>
#include <new>
#include <vector>

namespace py = pybind11;

namespace tracer::python {
namespace {

struct Watched {
  ArrowArrayStream stream;
  std::shared_ptr<StreamStatus> status;
};

struct OneBatch {
  std::shared_ptr<ArrowArray> batch;
  Table table;
  bool given = false;
};

struct ArrayAgain {
  std::shared_ptr<ArrowArray> owner;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

template <class T>
T& behind(const ArrowArrayStream* stream) {
  return *static_cast<T*>(stream->private_data);
}

template <class T>
void release_stream(ArrowArrayStream* stream) {
  delete &behind<T>(stream);
  stream->release = nullptr;
}

void release_again(ArrowArray* array) {
  auto* const node = static_cast<ArrayAgain*>(array->private_data);
  for (ArrowArray& child : node->children)
    if (child.release != nullptr) child.release(&child);
  if (node->dictionary.release != nullptr) node->dictionary.release(&node->dictionary);
  delete node;
  array->release = nullptr;
}

ArrowArray again_below(const ArrowArray& array, const std::shared_ptr<ArrowArray>& owner) {
  auto node = std::make_unique<ArrayAgain>();
  node->owner = owner;
  ArrowArray copy = array;
  copy.private_data = nullptr;
  const auto count = static_cast<std::size_t>(array.n_children);
  node->children.reserve(count);
  node->pointers.reserve(count);
  // A child that is made when the next one can't be has an owner, and is released with the node then.
  struct Release {
    ArrayAgain& node;
    bool armed = true;
    ~Release() {
      if (!armed) return;
      for (ArrowArray& child : node.children) child.release(&child);
    }
  } release{*node};
  for (std::size_t i = 0; i < count; ++i) {
    node->children.push_back(again_below(*array.children[i], owner));
    node->pointers.push_back(&node->children.back());
  }
  if (array.dictionary != nullptr) node->dictionary = again_below(*array.dictionary, owner);
  release.armed = false;
  copy.children = node->pointers.empty() ? nullptr : node->pointers.data();
  copy.dictionary = array.dictionary != nullptr ? &node->dictionary : nullptr;
  copy.release = &release_again;
  copy.private_data = node.release();
  return copy;
}

template <class T>
void destroy(PyObject* capsule, const char* name) {
  auto* const value = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (value == nullptr) return PyErr_Clear();
  if (value->release != nullptr) value->release(value);
  delete value;
}

template <class T>
py::capsule make_capsule(T value, const char* name, PyCapsule_Destructor destructor) {
  std::unique_ptr<T> held(new (std::nothrow) T(value));
  PyObject* const made = held ? PyCapsule_New(held.get(), name, destructor) : nullptr;
  if (made == nullptr) {
    value.release(&value);
    if (!held) throw std::bad_alloc();
    throw py::error_already_set();
  }
  static_cast<void>(held.release());
  return py::reinterpret_steal<py::capsule>(made);
}

}  // namespace

ArrowArrayStream watched(ArrowArrayStream stream, std::shared_ptr<StreamStatus> status) {
  struct Release {
    ArrowArrayStream* stream;
    ~Release() {
      if (stream != nullptr) stream->release(stream);
    }
  } release{&stream};
  auto held = std::make_unique<Watched>(Watched{stream, std::move(status)});
  release.stream = nullptr;
  ArrowArrayStream made{};
  made.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    ArrowArrayStream& inner = behind<Watched>(self).stream;
    return inner.get_schema(&inner, out);
  };
  made.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    Watched& all = behind<Watched>(self);
    const int result = all.stream.get_next(&all.stream, out);
    if (result == 0 && out->release != nullptr) return 0;
    try {
      all.status->note(stream_problem(all.stream), stream_damage(all.stream));
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    return result;
  };
  made.get_last_error = [](ArrowArrayStream* self) {
    ArrowArrayStream& inner = behind<Watched>(self).stream;
    return inner.get_last_error(&inner);
  };
  made.release = [](ArrowArrayStream* self) {
    ArrowArrayStream& inner = behind<Watched>(self).stream;
    inner.release(&inner);
    release_stream<Watched>(self);
  };
  made.private_data = held.release();
  return made;
}

ArrowArray again(const std::shared_ptr<ArrowArray>& batch) { return again_below(*batch, batch); }

ArrowArrayStream stream_of_batch(std::shared_ptr<ArrowArray> batch, Table table) {
  ArrowArrayStream made{};
  made.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    try {
      export_table_schema(behind<OneBatch>(self).table, out);
      return 0;
    } catch (...) {
      return ENOMEM;
    }
  };
  made.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    OneBatch& all = behind<OneBatch>(self);
    *out = {};
    try {
      if (!std::exchange(all.given, true)) *out = again(all.batch);
      return 0;
    } catch (...) {
      return ENOMEM;
    }
  };
  made.get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  made.release = &release_stream<OneBatch>;
  made.private_data = new OneBatch{std::move(batch), table};
  return made;
}

py::capsule capsule_of(ArrowSchema schema) {
  return make_capsule(schema, "arrow_schema", [](PyObject* self) { destroy<ArrowSchema>(self, "arrow_schema"); });
}
py::capsule capsule_of(ArrowArray array) {
  return make_capsule(array, "arrow_array", [](PyObject* self) { destroy<ArrowArray>(self, "arrow_array"); });
}
py::capsule capsule_of(ArrowArrayStream stream) {
  return make_capsule(stream, "arrow_array_stream",
                      [](PyObject* self) { destroy<ArrowArrayStream>(self, "arrow_array_stream"); });
}

}  // namespace tracer::python
