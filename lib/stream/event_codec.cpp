// SPDX-License-Identifier: Apache-2.0
#include "stream/event_codec.hpp"

#include <algorithm>
#include <concepts>

#include "base/event_fields.hpp"

namespace tracer {
namespace {

class NameCollector {
 public:
  explicit NameCollector(std::vector<std::string>& names) : names_(names) {}

  template <class T>
  void operator()(const char* name, const T&) {
    names_.push_back(prefix_ + name);
  }
  template <class T>
  void group(const char* name, const T& member) {
    const std::string before = prefix_;
    prefix_ += std::string(name) + '.';
    visit_fields(*this, member);
    prefix_ = before;
  }

 private:
  std::vector<std::string>& names_;
  std::string prefix_;
};

class Packer {
 public:
  explicit Packer(msgpack::sbuffer& out) : packer_(out) {}

  template <class T>
  void operator()(const char*, const T& value) {
    put(value);
  }
  template <class T>
  void group(const char*, const T& member) {
    visit_fields(*this, member);
  }

 private:
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      packer_.pack_nil();
    }
  }
  template <class T>
  void put(const T& value) {
    packer_.pack(value);
  }

  msgpack::packer<msgpack::sbuffer> packer_;
};

class Unpacker {
 public:
  Unpacker(const msgpack::object_array& fields, const std::vector<std::size_t>& places)
      : fields_(fields), places_(places) {}

  template <class T>
  void operator()(const char*, T& value) {
    const std::size_t place = places_[next_++];
    if (place == 0 || place >= fields_.size) return;
    if (!get(fields_.ptr[place], value)) good_ = false;
  }
  template <class T>
  void group(const char*, T& member) {
    visit_fields(*this, member);
  }
  bool good() const noexcept { return good_; }

 private:
  static bool get(const msgpack::object& object, bool& value) {
    if (object.type != msgpack::type::BOOLEAN) return false;
    value = object.via.boolean;
    return true;
  }
  template <std::integral T>
  static bool get(const msgpack::object& object, T& value) {
    if (object.type == msgpack::type::POSITIVE_INTEGER) {
      value = static_cast<T>(object.via.u64);
      return std::cmp_equal(value, object.via.u64);
    }
    if (object.type == msgpack::type::NEGATIVE_INTEGER) {
      value = static_cast<T>(object.via.i64);
      return std::cmp_equal(value, object.via.i64);
    }
    return false;
  }
  static bool get(const msgpack::object& object, std::string& value) {
    if (object.type != msgpack::type::STR) return false;
    value.assign(object.via.str.ptr, object.via.str.size);
    return true;
  }
  static bool get(const msgpack::object& object, std::vector<std::string>& values) {
    if (object.type != msgpack::type::ARRAY) return false;
    values.resize(object.via.array.size);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!get(object.via.array.ptr[i], values[i])) return false;
    return true;
  }
  template <class T>
  static bool get(const msgpack::object& object, std::optional<T>& value) {
    if (object.type == msgpack::type::NIL) {
      value.reset();
      return true;
    }
    return get(object, value.emplace());
  }

  const msgpack::object_array& fields_;
  const std::vector<std::size_t>& places_;
  std::size_t next_ = 0;
  bool good_ = true;
};

template <class E>
void add_kind(EventSchema& schema) {
  E event;
  if constexpr (ProcessEvent<E>) event.process = std::make_shared<Process>();
  NameCollector collector(schema[static_cast<std::uint16_t>(E::kKind)]);
  visit_event(collector, event);
}

template <class... E>
EventSchema schema_of(const std::variant<E...>*) {
  EventSchema schema;
  (add_kind<E>(schema), ...);
  return schema;
}

template <class E>
bool unpack_as(const msgpack::object_array& fields, const std::vector<std::size_t>& places, std::optional<Event>& out) {
  E event;
  Unpacker unpacker(fields, places);
  fill_event(unpacker, event);
  if (unpacker.good()) out.emplace(std::move(event));
  return true;
}

template <class... E>
void unpack_any(std::uint64_t kind, const msgpack::object_array& fields, const std::vector<std::size_t>& places,
                std::optional<Event>& out, const std::variant<E...>*) {
  static_cast<void>(((kind == static_cast<std::uint64_t>(E::kKind) && unpack_as<E>(fields, places, out)) || ...));
}

}  // namespace

const EventSchema& event_schema() {
  static const EventSchema schema = schema_of(static_cast<const Event*>(nullptr));
  return schema;
}

void pack_event(msgpack::sbuffer& out, const Event& event) {
  std::visit(
      [&](const auto& e) {
        const auto kind = static_cast<std::uint16_t>(std::remove_cvref_t<decltype(e)>::kKind);
        msgpack::packer<msgpack::sbuffer> packer(out);
        packer.pack_array(static_cast<std::uint32_t>(event_schema().at(kind).size() + 1));
        packer.pack(kind);
        Packer fields(out);
        visit_event(fields, e);
      },
      event);
}

EventUnpacker::EventUnpacker(const EventSchema& schema) {
  for (const auto& [kind, names] : event_schema()) {
    const auto theirs = schema.find(kind);
    std::vector<std::size_t>& places = places_[kind];
    for (const std::string& name : names) {
      std::size_t place = 0;
      if (theirs != schema.end()) {
        const auto found = std::find(theirs->second.begin(), theirs->second.end(), name);
        if (found != theirs->second.end()) place = static_cast<std::size_t>(found - theirs->second.begin()) + 1;
      }
      places.push_back(place);
    }
  }
}

std::optional<Event> EventUnpacker::unpack(const msgpack::object& object) const {
  if (object.type != msgpack::type::ARRAY || object.via.array.size == 0) return std::nullopt;
  const msgpack::object_array& fields = object.via.array;
  if (fields.ptr[0].type != msgpack::type::POSITIVE_INTEGER) return std::nullopt;
  const std::uint64_t kind = fields.ptr[0].via.u64;
  if (kind > UINT16_MAX) return std::nullopt;
  const auto places = places_.find(static_cast<std::uint16_t>(kind));
  if (places == places_.end()) return std::nullopt;
  std::optional<Event> event;
  unpack_any(kind, fields, places->second, event, static_cast<const Event*>(nullptr));
  return event;
}

}  // namespace tracer
