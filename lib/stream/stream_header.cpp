// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_header.hpp"

#include <string>
#include <string_view>
#include <utility>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "base/leaves.hpp"
#include "base/process_schema.hpp"
#include "stream/column_layout.hpp"

namespace tracer::internal {
namespace {

/// Of a header's msgpack: none of ours comes near.
const msgpack::unpack_limit kLimits(1u << 16, 1u << 12, 1u << 20, 1u << 20, 1u << 20, 8);

class BytesStream {
 public:
  explicit BytesStream(Bytes& out) : out_(out) {}
  void write(const char* bytes, std::size_t size) { put_bytes(out_, std::as_bytes(std::span(bytes, size))); }

 private:
  Bytes& out_;
};
using Packer = msgpack::packer<BytesStream>;

void pack_text(Packer& packer, std::string_view text) {
  packer.pack_str(static_cast<std::uint32_t>(text.size()));
  packer.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
}

/// The numbers on the way to a field, 8 bits each, the last one lowest.
std::uint64_t short_path(FieldId id) {
  std::uint64_t path = id & 0xffff'ffff'ffff;
  while (path != 0 && (path & 0xff) == 0) path >>= 8;
  return path;
}

void pack_fields(Packer& packer) {
  packer.pack_map(kKinds);
  for (const EventKind kind : kKindNumbers) {
    packer.pack(static_cast<std::uint16_t>(kind));
    const auto fields = leaves(kind);
    packer.pack_array(static_cast<std::uint32_t>(fields.size()));
    for (const Leaf& leaf : fields) {
      packer.pack_array(5);
      packer.pack(short_path(leaf.id));
      pack_text(packer, leaf.name);
      pack_text(packer, to_string(leaf.type));
      pack_text(packer, to_string(leaf.unit));
      packer.pack(leaf.nullable);
    }
  }
}

void pack_host(Packer& packer, const HostInfo& host) {
  packer.pack_map(static_cast<std::uint32_t>(std::tuple_size_v<decltype(Schema<HostInfo>::fields)>));
  each_field<HostInfo>([&](const auto& described) {
    packer.pack(described.name);
    packer.pack(host.*described.member);
  });
}

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

bool has_kind(const msgpack::object& fields, EventKind kind) {
  if (fields.type != msgpack::type::MAP) return false;
  for (std::uint32_t i = 0; i < fields.via.map.size; ++i) {
    std::uint64_t number = 0;
    if (get(fields.via.map.ptr[i].key, number) && number == static_cast<std::uint64_t>(kind)) return true;
  }
  return false;
}

std::optional<StreamHeader> header_of(const msgpack::object& object) {
  StreamHeader header;
  header.schema = 0;
  const auto take_host = [&header](const std::string& name, const msgpack::object& value) {
    bool good = true;
    each_field<HostInfo>([&](const auto& described) {
      if (name == described.name) good = get(value, header.host.*described.member);
    });
    return good;
  };
  const auto take = [&](const std::string& name, const msgpack::object& value) {
    if (name == "schema") return get(value, header.schema);
    if (name == "part") return get(value, header.part);
    if (name == "number") return get(value, header.number);
    if (name == "previous_frames") return get(value, header.previous_frames);
    if (name == "owner_uid") return get(value, header.owner_uid.emplace());
    if (name == "fields") header.knows_findings = has_kind(value, EventKind::kFinding);
    return name != "host" || read_map(value, take_host);
  };
  if (!read_map(object, take) || header.schema == 0) return std::nullopt;
  return header;
}

}  // namespace

void put_header(Bytes& out, const StreamHeader& header) {
  BytesStream stream(out);
  Packer packer(stream);
  packer.pack_map(4u + (header.number == 0 ? 0u : 2u) + (header.owner_uid ? 1u : 0u));
  packer.pack("schema");
  packer.pack(header.schema);
  packer.pack("part");
  packer.pack(header.part);
  if (header.number != 0) {
    packer.pack("number");
    packer.pack(header.number);
    packer.pack("previous_frames");
    packer.pack(header.previous_frames);
  }
  if (header.owner_uid) {
    packer.pack("owner_uid");
    packer.pack(*header.owner_uid);
  }
  packer.pack("host");
  pack_host(packer, header.host);
  packer.pack("fields");
  pack_fields(packer);
}

std::optional<StreamHeader> take_header(std::span<const std::byte> payload) {
  try {
    std::size_t used = 0;
    const msgpack::object_handle handle =
        msgpack::unpack(reinterpret_cast<const char*>(payload.data()), payload.size(), used, nullptr, nullptr, kLimits);
    return header_of(handle.get());
  } catch (const msgpack::unpack_error&) {
    return std::nullopt;
  }
}

}  // namespace tracer::internal
