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

/// What private_data points to.
struct Content {
  std::vector<Row> rows;
  std::string text;
};

void fill(tracer_error* error, std::vector<Row> rows, std::string text) {
  if (error == nullptr) return;
  auto* content = new Content{std::move(rows), std::move(text)};
  error->status = content->rows.front().status;
  error->error_number = content->rows.front().problem.error_number;
  error->problem_count = content->rows.size();
  error->text = string_of(content->text);
  error->private_data = content;
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
  if (error->size < kFirstSize<tracer_error> || error->size > kMostSize) return false;
  tracer_error_release(error);
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
    const auto* content = static_cast<const Content*>(error->private_data);
    if (content == nullptr || index >= content->rows.size()) throw Refusal{TRACER_OUT_OF_RANGE, "no such problem"};
    const auto& [status, problem] = content->rows[index];
    give(out,
         {0, status, problem.error_number, string_of(problem.what), string_of(problem.fix), string_of(problem.detail)},
         "out");
  });
}

void tracer_error_release(tracer_error* error) {
  if (error == nullptr || error->size < kFirstSize<tracer_error> || error->size > kMostSize) return;
  delete static_cast<Content*>(error->private_data);
  const std::size_t size = error->size;
  auto* bytes = reinterpret_cast<unsigned char*>(error);
  std::memset(bytes, 0, size);
  error->size = size;
}

tracer_string tracer_text_get(const tracer_text* text) {
  return text == nullptr ? tracer_string{nullptr, 0} : string_of(text->text);
}

void tracer_text_free(tracer_text* text) { delete text; }
