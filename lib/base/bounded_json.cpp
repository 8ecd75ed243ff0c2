// SPDX-License-Identifier: Apache-2.0
#include "base/bounded_json.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tracer::internal {
namespace {

using Json = nlohmann::json;

/// Makes the value of what the library's lexer calls it with; each call returns false to end the pass.
class Builder {
 public:
  explicit Builder(const JsonBounds& bounds) : bounds_(bounds) {}

  BoundedJson take() {
    if (made_.fault != JsonFault::kNone) made_.json = Json(Json::value_t::discarded);
    return std::move(made_);
  }

  // Names and parameters are the library's.
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return may_be(value) && add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool key(std::string& name) {
    if (!may_be(name)) return false;
    member_ = &open_.back()->get_ref<Json::object_t&>()[std::move(name)];
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) {
    made_.byte = byte;
    return fail(JsonFault::kMalformed);
  }

 private:
  bool fail(JsonFault fault) {
    made_.fault = fault;
    return false;
  }
  bool may_be(const std::string& text) {
    return bounds_.nul || text.find('\0') == std::string::npos || fail(JsonFault::kNul);
  }
  template <class Value>
  bool add(Value&& value) {
    if (values_++ == bounds_.most_values) return fail(JsonFault::kTooMany);
    if (open_.empty()) {
      last_ = &made_.json;
    } else if (open_.back()->is_array()) {
      last_ = &open_.back()->get_ref<Json::array_t&>().emplace_back();
    } else {
      last_ = member_;
    }
    *last_ = Json(std::forward<Value>(value));
    return true;
  }
  bool open(Json::value_t type) {
    if (open_.size() == bounds_.most_depth) return fail(JsonFault::kTooDeep);
    if (!add(type)) return false;
    open_.push_back(last_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonBounds& bounds_;
  BoundedJson made_;
  std::vector<Json*> open_;  ///< Objects and lists that have not ended, the outermost first.
  Json* member_ = nullptr;   ///< Whose name was read last.
  Json* last_ = nullptr;     ///< What was added last.
  std::size_t values_ = 0;
};

}  // namespace

BoundedJson bounded_json(std::string_view text, const JsonBounds& bounds) {
  Builder builder(bounds);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace tracer::internal
