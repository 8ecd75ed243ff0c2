// SPDX-License-Identifier: Apache-2.0
#include <tracer/event.hpp>

#include <concepts>
#include <iterator>

#include <fmt/format.h>

#include "base/event_schema.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"

namespace tracer {
namespace internal {
namespace {

void append_escaped(std::string& out, unsigned code) {
  if (code > 0xffff) {
    // As a pair.
    append_escaped(out, 0xd7c0 + (code >> 10));
    code = 0xdc00 + (code & 0x3ff);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
}

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out, bool first = false) : out_(out), first_(first) {}

  /// The fields of `value`, without braces; with kBrief only those that a program is known by.
  template <Described T>
  void fields(const T& value, Shape shape = Shape::kFlat) {
    each_field<T>([&](const auto& described) {
      if (shape == Shape::kBrief && !is_brief(described.name)) return;
      const auto& member = value.*described.member;
      if constexpr (Described<Inner<decltype(member)>>) {
        if (described.shape != Shape::kBeside) put_group(described, member);
      } else {
        key(described.name);
        put(member);
      }
    });
  }

 private:
  static bool is_brief(std::string_view name) { return name == "exe" || name == "tool"; }

  template <class F, class M>
  void put_group(const F& described, const M& member) {
    if constexpr (kIsListOfStructs<M>) {
      key(described.name);
      out_ += '[';
      for (std::size_t i = 0; i < member.size(); ++i) {
        if (i != 0) out_ += ',';
        put_object(member[i]);
      }
      out_ += ']';
    } else if (described.shape == Shape::kNested) {
      const auto* inner = group_of(member);
      put_object_or_null(described.name, inner);
      using T = Inner<M>;
      each_field<T>([&](const auto& other) {
        using Other = std::remove_cvref_t<decltype(std::declval<T>().*other.member)>;
        if constexpr (Described<Other>)
          if (other.shape == Shape::kBeside)
            put_object_or_null(beside_name(described.name) + other.name,
                               inner != nullptr ? &(inner->*other.member) : nullptr);
      });
    } else if (const auto* inner = group_of(member)) {
      fields(*inner, described.shape);
    }
  }

  template <Described T>
  void put_object_or_null(std::string_view name, const T* value) {
    key(name);
    if (value != nullptr && says_something(*value)) {
      put_object(*value);
    } else {
      out_ += "null";
    }
  }
  /// An empty context is left out.
  template <class T>
  static bool says_something(const T& value) {
    if constexpr (std::same_as<T, Context> || std::same_as<T, ContextProvenance>) return value != T{};
    return true;
  }

  template <Described T>
  void put_object(const T& value) {
    out_ += '{';
    JsonWriter(out_, true).fields(value);
    out_ += '}';
  }

  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  void put(bool value) { out_ += value ? "true" : "false"; }
  template <std::integral T>
  void put(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      out_ += "null";
    }
  }
  template <class T>
  requires std::is_enum_v<T>
  void put(T value) { put(std::string_view(to_string(value))); }
  void put(const std::vector<std::string>& values) {
    out_ += '[';
    bool first = true;
    for (const std::string& value : values) {
      if (!first) out_ += ',';
      first = false;
      put(value);
    }
    out_ += ']';
  }
  void put(std::string_view text) { append_json_text(out_, text); }

  std::string& out_;
  bool first_;
};

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  for (std::string_view rest = text; !rest.empty();) {
    const auto byte = static_cast<unsigned char>(rest.front());
    const std::size_t length = utf8_length(rest);
    if (length == 0) {
      out += "\\ufffd";
      rest.remove_prefix(1);
      continue;
    }
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += rest.front();
    } else if (byte < 0x20 || byte == 0x7f) {
      append_escaped(out, byte);
    } else if (const unsigned code = length > 1 ? steering_code(rest.substr(0, length)) : 0; code != 0) {
      append_escaped(out, code);
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  out += '"';
}

}  // namespace internal

std::string to_json(const Event& event) {
  std::string out;
  out.reserve(2048);
  out += "{\"kind\":\"";
  out += to_string(event.kind());
  out += '"';
  visit([&out](const auto& body) { internal::JsonWriter(out).fields(body); }, event);
  out += '}';
  return out;
}

std::string to_json(const HostInfo& host) {
  std::string out = "{\"kind\":\"host\"";
  internal::JsonWriter(out).fields(host);
  out += '}';
  return out;
}

}  // namespace tracer
