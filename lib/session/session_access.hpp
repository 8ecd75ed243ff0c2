// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/session.hpp>

namespace tracer::internal {

class Reader;

/// What is behind a session, for a service that answers for others: it judges by their credentials, not by its own.
struct SessionAccess {
  static std::shared_ptr<Reader> reader(const Session& session);
};

}  // namespace tracer::internal
