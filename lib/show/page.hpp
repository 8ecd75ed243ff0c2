// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tracer::internal {

/// A document (docs/api.md) as one HTML page, which needs no network and no other file. `text`: what stands there where
/// scripts don't run.
std::string page_of(std::string_view document, const std::string& title, const std::string& text);

}  // namespace tracer::internal
