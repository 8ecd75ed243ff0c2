// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <vector>

#include "guard.hpp"
#include "sizes.hpp"

namespace tracer::c {
namespace {

struct Row {
  tracer_status status = TRACER_ERROR_INTERNAL;
  Problem problem;
};

/// What private_data points to; the text is behind it in the same memory. By that it is known again: what a caller has
/// never set is not freed, nor even looked at.
struct Content {
  std::vector<Row> rows;

  char* text() noexcept { return reinterpret_cast<char*>(this + 1); }
};

const Content* content_of(const tracer_error& error) noexcept {
  const auto* const data = static_cast<const char*>(error.private_data);
  const bool own = data != nullptr && error.text.data == data + sizeof(Content) && error.status < 0;
  return own ? static_cast<const Content*>(error.private_data) : nullptr;
}

void fill(tracer_error* error, std::vector<Row> rows, const std::string& text) {
  if (error == nullptr) return;
  auto* content = new (::operator new(sizeof(Content) + text.size())) Content{std::move(rows)};
  text.copy(content->text(), text.size());
  error->status = content->rows.front().status;
  error->error_number = content->rows.front().problem.error_number;
  error->problem_count = content->rows.size();
  error->text = {content->text(), text.size()};
  error->private_data = content;
}

/// As after TRACER_ERROR_INIT; its size is one of a tracer_error.
void clear(tracer_error& error) noexcept {
  if (const Content* content = content_of(error)) {
    content->~Content();
    ::operator delete(error.private_data);
  }
  const std::size_t size = error.size;
  error = TRACER_ERROR_INIT;
  error.size = size;
}

tracer_status fill(tracer_error* error, const Error& thrown) {
  std::vector<Row> rows;
  for (const Problem& problem : thrown.problems()) rows.push_back({status_of(problem.code), problem});
  fill(error, std::move(rows), thrown.what());
  return status_of(thrown.code());
}

tracer_status fill(tracer_error* error, const Refusal& refusal) {
  if (refusal.status > -200)
    return fill(error, Error({static_cast<ErrorCode>(-refusal.status), 0, refusal.what, refusal.fix, {}}));
  Problem problem{ErrorCode::kInternal, 0, refusal.what, refusal.fix, {}};
  fill(error, {{refusal.status, std::move(problem)}},
       refusal.fix.empty() ? refusal.what : refusal.what + "\n  fix: " + refusal.fix);
  return refusal.status;
}

tracer_status fill_current(tracer_error* error) {
  try {
    throw;
  } catch (const Error& thrown) {
    return fill(error, thrown);
  } catch (const Refusal& refusal) {
    return fill(error, refusal);
  } catch (const std::bad_alloc&) {
    return fill(error, Error({ErrorCode::kNoMemory, 0, "no memory", {}, {}}));
  } catch (const std::exception& thrown) {
    return fill(error, Error({ErrorCode::kInternal, 0, thrown.what(), {}, {}}));
  } catch (...) {
    return fill(error, Error({ErrorCode::kInternal, 0, "an unknown exception", {}, {}}));
  }
}

}  // namespace

bool prepare(tracer_error* error) noexcept {
  if (error == nullptr) return true;
  if (!is_size_of<tracer_error>(error->size)) return false;
  clear(*error);
  return true;
}

tracer_status store_current(tracer_error* error) noexcept {
  try {
    return fill_current(error);
  } catch (...) {  // Not even for the message is there memory.
    if (error != nullptr) error->status = TRACER_ERROR_NO_MEMORY;
    return TRACER_ERROR_NO_MEMORY;
  }
}

void store(tracer_error* error, const Problem& problem) { fill(error, Error(problem)); }

std::optional<std::string> optional_text(tracer_string string, const char* name) {
  if (string.data == nullptr) {
    if (string.length != 0)
      throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, std::string(name) + " has a length, but no data"};
    return std::nullopt;
  }
  std::string text(string.data, string.length);
  if (text.find('\0') != std::string::npos)
    throw Refusal{TRACER_ERROR_INVALID_ARGUMENT, std::string(name) + " has a NUL in it"};
  return text;
}

std::string text_or_empty(tracer_string string, const char* name) {
  return optional_text(string, name).value_or(std::string());
}

}  // namespace tracer::c

using namespace tracer::c;

tracer_status tracer_error_problem(const tracer_error* error, size_t index, tracer_problem* out) {
  return guard(nullptr, [&] {
    check_size(need(error, "error"), "error");
    check_size(need(out, "out"), "out");
    const Content* content = content_of(*error);
    if (content == nullptr || index >= content->rows.size()) throw Refusal{TRACER_OUT_OF_RANGE, "no such problem"};
    const auto& [status, problem] = content->rows[index];
    give(out,
         {0, status, problem.error_number, string_of(problem.what), string_of(problem.fix), string_of(problem.detail)},
         "out");
  });
}

void tracer_error_release(tracer_error* error) {
  if (error != nullptr && is_size_of<tracer_error>(error->size)) clear(*error);
}

tracer_string tracer_text_get(const tracer_text* text) {
  return text == nullptr ? tracer_string{nullptr, 0} : string_of(text->text);
}

void tracer_text_free(tracer_text* text) { delete text; }
