// SPDX-License-Identifier: Apache-2.0
#include <tracer/event.hpp>

#include <iterator>

#include <fmt/format.h>

#include "base/event_fields.hpp"

namespace tracer {
namespace {

/// The length of the UTF-8 sequence at the start of `text`, or 0 if there is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned code = 0;
  if ((first & 0xe0u) == 0xc0) {
    length = 2;
    code = first & 0x1fu;
  } else if ((first & 0xf0u) == 0xe0) {
    length = 3;
    code = first & 0x0fu;
  } else if ((first & 0xf8u) == 0xf0) {
    length = 4;
    code = first & 0x07u;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  return length;
}

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  template <class T>
  void operator()(const char* name, const T& value) {
    key(name);
    put(value);
  }

  template <class T>
  void group(const char* name, const T& member) {
    key(name);
    if (!is_known(member)) {
      out_ += "null";
      return;
    }
    out_ += '{';
    first_ = true;
    visit_fields(*this, member);
    out_ += '}';
    first_ = false;
  }

 private:
  void key(const char* name) {
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
  void put(const std::string& text) {
    out_ += '"';
    for (std::string_view rest = text; !rest.empty();) {
      const auto byte = static_cast<unsigned char>(rest.front());
      const std::size_t length = utf8_length(rest);
      if (length == 0) {
        out_ += "\\ufffd";
        rest.remove_prefix(1);
        continue;
      }
      if (byte == '"' || byte == '\\') {
        out_ += '\\';
        out_ += rest.front();
      } else if (byte < 0x20 || byte == 0x7f) {
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}", byte);
      } else {
        out_ += rest.substr(0, length);
      }
      rest.remove_prefix(length);
    }
    out_ += '"';
  }

  std::string& out_;
  bool first_ = false;
};

}  // namespace

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kProcessStart: return "process_start";
    case EventKind::kProcessExec: return "process_exec";
    case EventKind::kProcessExit: return "process_exit";
    case EventKind::kProcessSample: return "process_sample";
    case EventKind::kLoss: return "loss";
    case EventKind::kSessionEnd: return "session_end";
    case EventKind::kToolSample: return "tool_sample";
    case EventKind::kCgroupSample: return "cgroup_sample";
  }
  return {};
}

EventKind kind_of(const Event& event) noexcept {
  return std::visit([](const auto& e) { return std::remove_cvref_t<decltype(e)>::kKind; }, event);
}

std::uint64_t time_of(const Event& event) noexcept {
  return std::visit([](const auto& e) { return e.time_ns; }, event);
}

std::string to_json(const Event& event) {
  std::string out;
  out.reserve(2048);
  out += "{\"kind\":\"";
  out += to_string(kind_of(event));
  out += '"';
  JsonWriter writer(out);
  std::visit([&](const auto& e) { visit_event(writer, e); }, event);
  out += '}';
  return out;
}

std::string to_json(const HostInfo& host) {
  std::string out = "{\"kind\":\"host\"";
  JsonWriter writer(out);
  visit_fields(writer, host);
  out += '}';
  return out;
}

}  // namespace tracer
