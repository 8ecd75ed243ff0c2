// SPDX-License-Identifier: Apache-2.0
#include "source/source.hpp"

#include <tracer/source.hpp>

#include <utility>

namespace tracer {

Source::Source(std::unique_ptr<internal::Source> source) noexcept : source_(std::move(source)) {}
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

std::unique_ptr<internal::Source> Source::release() noexcept { return std::move(source_); }

}  // namespace tracer
