// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

#include <structmember.h>

#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/leaves.hpp"
#include "binders.hpp"
#include "described.hpp"
#include "text.hpp"

namespace py = pybind11;

namespace tracer::python {

namespace {

/// A class and where its slots are. Set once; never released, as no Python is left when statics are destroyed.
struct Layout {
  PyTypeObject* type = nullptr;
  std::vector<Py_ssize_t> offsets;
};
template <class T>
Layout& layout_of() {
  static Layout layout;
  return layout;
}

PyObject* checked(PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  return made;
}
PyObject* none() { return Py_NewRef(Py_None); }
/// What never changes is in no cycle: the collector need not look at it, which costs more than to make it.
PyObject* untracked(PyObject* made) {
  PyObject_GC_UnTrack(checked(made));
  return made;
}
py::object new_tuple(std::size_t size) {
  PyObject* made = checked(PyTuple_New(static_cast<Py_ssize_t>(size)));
  // The empty one is everybody's.
  return py::reinterpret_steal<py::object>(size == 0 ? made : untracked(made));
}

PyObject* new_value(bool value) { return Py_NewRef(value ? Py_True : Py_False); }
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) PyObject* new_value(T value) {
  if constexpr (std::is_signed_v<T>) return checked(PyLong_FromLongLong(value));
  return checked(PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value)));
}
PyObject* new_value(const std::string& text) { return checked(new_text(text)); }
template <class T>
requires std::is_enum_v<T> PyObject* new_value(T value) {
  const auto text = to_string(value);
  return checked(new_text(text));
}
PyObject* new_value(const std::vector<std::string>& texts) {
  py::object tuple = new_tuple(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), new_value(texts[i]));
  return tuple.release().ptr();
}
template <class T>
PyObject* new_value(const std::optional<T>& value) {
  return value ? new_value(*value) : none();
}

/// What events of one call share, by its address: the events keep it alive meanwhile.
struct Made {
  std::unordered_map<const void*, std::vector<py::object>> slots;
  std::unordered_map<const void*, py::object> parts;
};

template <Described T>
py::object new_object(const T& value, Made* made);

/// Fills the slots of a new object, one after the other.
class Filler {
 public:
  Filler(const Layout& layout, PyObject* object, Made* made)
      : at_(layout.offsets.data()), object_(object), made_(made) {}

  template <class M>
  void leaf(std::string_view, const M* member, internal::Unit) {
    put(member != nullptr ? new_value(*member) : none());
  }
  template <class U>
  void part(std::string_view, const U* inner, bool) {
    if (inner == nullptr) return put(none());
    if constexpr (kNoneIfEmpty<U>) {
      put(shared_part(*inner).release().ptr());
    } else {
      put(new_object(*inner, made_).release().ptr());
    }
  }
  template <class U, class Fill>
  void shared(const U* inner, Fill fill) {
    if (made_ == nullptr || inner == nullptr) return fill();
    auto& slots = made_->slots[inner];
    if (slots.empty()) {
      const Py_ssize_t* const first = at_;
      fill();
      for (const Py_ssize_t* each = first; each != at_; ++each)
        slots.push_back(py::reinterpret_borrow<py::object>(slot(*each)));
      return;
    }
    for (const py::object& each : slots) put(Py_NewRef(each.ptr()));
  }
  template <class U>
  void list(std::string_view, const std::vector<U>* members) {
    if (members == nullptr) return put(none());
    py::object tuple = new_tuple(members->size());
    for (std::size_t i = 0; i < members->size(); ++i)
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), new_object((*members)[i], made_).release().ptr());
    put(tuple.release().ptr());
  }
  /// Takes over the reference.
  void put(PyObject* value) noexcept { slot(*at_++) = value; }

 private:
  PyObject*& slot(Py_ssize_t offset) const noexcept {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object_) + offset);
  }
  /// Of what belongs to nothing, None.
  template <class U>
  py::object shared_part(const U& value) {
    if (made_ == nullptr) return value == U{} ? py::none() : new_object(value, nullptr);
    py::object& part = made_->parts[&value];
    if (!part) part = value == U{} ? py::object(py::none()) : new_object(value, made_);
    return part;
  }

  const Py_ssize_t* at_;
  PyObject* object_;
  Made* made_;
};

template <Described T>
py::object new_object(const T& value, Made* made) {
  const Layout& layout = layout_of<T>();
  if (layout.type == nullptr) py::module_::import("tracer._events");
  auto object = py::reinterpret_steal<py::object>(untracked(layout.type->tp_alloc(layout.type, 0)));
  Filler filler(layout, object.ptr(), made);
  walk(&value, filler);
  return object;
}

// The classes, as the package registers them.

template <class T>
bool take_class(std::string_view name, const py::type& type) {
  if (name != class_name<T>()) return false;
  Layout& layout = layout_of<T>();
  layout.offsets.clear();
  for (const py::handle slot : type.attr("__slots__")) {
    const py::object descriptor = type.attr(slot.cast<std::string>().c_str());
    if (Py_TYPE(descriptor.ptr()) != &PyMemberDescr_Type) throw py::type_error("a slot is hidden");
    layout.offsets.push_back(reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset);
  }
  layout.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type.ptr()));
  return true;
}

template <class... T>
void take_any_class(std::string_view name, const py::type& type, TypeList<T...>) {
  if (!(take_class<T>(name, type) || ...)) throw py::type_error("no class of an event or a part");
}

/// What the slots of a class are: the source of _events.py.
class Describer {
 public:
  explicit Describer(py::list& slots) : slots_(slots) {}

  template <class M>
  void leaf(std::string_view name, const M*, internal::Unit unit) {
    const internal::Type type = internal::type_of<M>();
    add(name, internal::to_string(type), "", internal::to_string(unit), internal::kIsOptional<M>);
  }
  template <class U>
  void part(std::string_view name, const U*, bool optional) {
    add(name, "part", class_name<U>(), "", optional || kNoneIfEmpty<U>);
  }
  template <class U, class Fill>
  void shared(const U*, Fill fill) {
    fill();
  }
  template <class U>
  void list(std::string_view name, const std::vector<U>*) {
    add(name, "list", class_name<U>(), "", false);
  }

 private:
  void add(std::string_view name, std::string_view type, std::string_view part, std::string_view unit, bool nullable) {
    slots_.append(py::make_tuple(text_of(name), text_of(type), text_of(part), text_of(unit), nullable));
  }
  py::list& slots_;
};

template <class T>
py::tuple description_of() {
  py::list slots;
  Describer describer(slots);
  walk<T>(nullptr, describer);
  std::string_view kind;
  if constexpr (EventType<T>) kind = to_string(T::kKind);
  return py::make_tuple(text_of(class_name<T>()), text_of(kind), slots);
}

template <class... T>
void describe(py::list& classes, TypeList<T...>) {
  (classes.append(description_of<T>()), ...);
}

}  // namespace

namespace {

py::object object_of(const Event& event, Made* made) {
  py::object object = py::none();
  visit([&](const auto& body) { object = new_object(body, made); }, event);
  return object;
}

}  // namespace

py::object object_of(const Event& event) { return object_of(event, nullptr); }

py::list objects_of(std::span<const Event> events) {
  Made made;
  py::list objects(events.size());
  for (std::size_t i = 0; i < events.size(); ++i)
    PyList_SET_ITEM(objects.ptr(), static_cast<Py_ssize_t>(i), object_of(events[i], &made).release().ptr());
  return objects;
}

py::object object_of(const ContextTotals& totals) { return new_object(totals, nullptr); }
py::object object_of(const Context& context) { return new_object(context, nullptr); }
py::object object_of(const HostInfo& host) { return new_object(host, nullptr); }
py::object object_of(const TaskLedger& ledger) { return new_object(ledger, nullptr); }
py::object object_of(const AwaitedTask& task) { return new_object(task, nullptr); }
py::object object_of(const Requested& requested) { return new_object(requested, nullptr); }

void bind_events(py::module_& module) {
  module.def(
      "register_class",
      [](const py::str& name, const py::type& type) {
        const auto text = name.cast<std::string>();
        try {
          take_any_class(text, type, PartTypes());
        } catch (const py::type_error&) {
          take_any_class(text, type, internal::EventTypes());
        }
      },
      py::arg("name"), py::arg("type"));
  module.def("schema", [] {
    py::list classes;
    describe(classes, PartTypes());
    describe(classes, internal::EventTypes());
    return classes;
  });
}

}  // namespace tracer::python
