// SPDX-License-Identifier: Apache-2.0
#include "stream/recording_header.hpp"

#include <utility>

#include "base/event_fields.hpp"

namespace tracer {
namespace {

bool get(const msgpack::object& object, std::string& value) {
  if (object.type != msgpack::type::STR) return false;
  value.assign(object.via.str.ptr, object.via.str.size);
  return true;
}

template <std::unsigned_integral T>
bool get(const msgpack::object& object, T& value) {
  if (object.type != msgpack::type::POSITIVE_INTEGER || !std::in_range<T>(object.via.u64)) return false;
  value = static_cast<T>(object.via.u64);
  return true;
}

bool get(const msgpack::object& object, EventSchema& schema) {
  if (object.type != msgpack::type::MAP) return false;
  for (std::uint32_t i = 0; i < object.via.map.size; ++i) {
    const msgpack::object_kv& kind = object.via.map.ptr[i];
    std::uint16_t number = 0;
    if (!get(kind.key, number) || kind.val.type != msgpack::type::ARRAY) return false;
    std::vector<std::string>& names = schema[number];
    names.resize(kind.val.via.array.size);
    for (std::size_t n = 0; n < names.size(); ++n)
      if (!get(kind.val.via.array.ptr[n], names[n])) return false;
  }
  return true;
}

/// Calls `take` for each entry of a map; false if the object is no map with names, or `take` says so.
template <class Take>
bool read_map(const msgpack::object& object, Take take) {
  if (object.type != msgpack::type::MAP) return false;
  for (std::uint32_t i = 0; i < object.via.map.size; ++i) {
    std::string name;
    if (!get(object.via.map.ptr[i].key, name) || !take(name, object.via.map.ptr[i].val)) return false;
  }
  return true;
}

class HostPacker {
 public:
  explicit HostPacker(msgpack::packer<msgpack::sbuffer>& packer) : packer_(packer) {}
  template <class T>
  void operator()(const char* name, const T& value) {
    packer_.pack(name);
    packer_.pack(value);
  }

 private:
  msgpack::packer<msgpack::sbuffer>& packer_;
};

class FieldCounter {
 public:
  template <class T>
  void operator()(const char*, const T&) {
    ++count;
  }
  std::uint32_t count = 0;
};

/// Sets the one field that has this name.
class HostSetter {
 public:
  HostSetter(const std::string& name, const msgpack::object& object) : name_(name), object_(object) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (name_ == name) good = get(object_, value);
  }
  bool good = true;

 private:
  const std::string& name_;
  const msgpack::object& object_;
};

}  // namespace

void pack_header(msgpack::sbuffer& out, const RecordingHeader& header) {
  msgpack::packer<msgpack::sbuffer> packer(out);
  packer.pack_map(3);
  packer.pack("schema");
  packer.pack(header.schema);
  packer.pack("host");
  FieldCounter counter;
  visit_fields(counter, header.host);
  packer.pack_map(counter.count);
  HostPacker host(packer);
  visit_fields(host, header.host);
  packer.pack("events");
  packer.pack(header.events);
}

std::optional<RecordingHeader> unpack_header(const msgpack::object& object) {
  RecordingHeader header;
  header.schema = 0;
  const auto take_host = [&header](const std::string& name, const msgpack::object& value) {
    HostSetter setter(name, value);
    visit_fields(setter, header.host);
    return setter.good;
  };
  const auto take = [&](const std::string& name, const msgpack::object& value) {
    if (name == "schema") return get(value, header.schema);
    if (name == "events") return get(value, header.events);
    return name != "host" || read_map(value, take_host);
  };
  if (!read_map(object, take) || header.schema == 0) return std::nullopt;
  return header;
}

}  // namespace tracer
