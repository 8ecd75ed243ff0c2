// SPDX-License-Identifier: Apache-2.0
/// Reads JSON as to_json() writes it, for comparisons with tables.
#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace plain_json {

/// The fields of one object. What is in an object within goes by "outer.inner"; lists are one value, shown as
/// "[item,item]" and "{name:value}"; texts are shown in quotes, unescaped.
class Fields {
 public:
  explicit Fields(std::string_view json) : rest_(json) { object(""); }
  const std::map<std::string, std::string>& all() const { return all_; }

 private:
  void object(const std::string& prefix) {
    take('{');
    while (rest_.front() != '}') {
      const std::string name = prefix + text();
      take(':');
      if (rest_.front() == '{') {
        object(name + '.');
      } else {
        all_[name] = value();
      }
      if (rest_.front() == ',') take(',');
    }
    take('}');
  }
  std::string value() {
    if (rest_.front() == '"') return '"' + text() + '"';
    if (rest_.front() == '[' || rest_.front() == '{') return within();
    const std::size_t length = rest_.find_first_of(",]}");
    std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return word;
  }
  std::string within() {
    const char close = rest_.front() == '[' ? ']' : '}';
    std::string out(1, rest_.front());
    take(rest_.front());
    while (rest_.front() != close) {
      if (close == '}') {
        out += text() + ':';
        take(':');
      }
      out += value();
      if (rest_.front() == ',') out += ',', take(',');
    }
    take(close);
    return out + close;
  }
  std::string text() {
    std::string out;
    take('"');
    while (rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_[1] == 'u') {
        const auto code = std::strtoul(std::string(rest_.substr(2, 4)).c_str(), nullptr, 16);
        out += code == 0xfffd ? std::string("\xef\xbf\xbd") : std::string(1, static_cast<char>(code));
        rest_.remove_prefix(6);
        continue;
      }
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      out += rest_.front();
      rest_.remove_prefix(1);
    }
    take('"');
    return out;
  }
  void take(char /*expected*/) { rest_.remove_prefix(1); }

  std::string_view rest_;
  std::map<std::string, std::string> all_;
};

}  // namespace plain_json
