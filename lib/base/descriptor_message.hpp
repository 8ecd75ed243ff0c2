// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tracer::internal {

/// Sends a message on a local socket; `fd`: with this descriptor, below 0: with none. False: it was not sent as a
/// whole; errno says why. Async-signal-safe.
bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int fd) noexcept;
/// Waits for such a message. `fd`: the caller's to close; -1: none came. False: errno, or 0 where it has another size.
bool receive_with_descriptor(int socket, std::span<std::byte> bytes, int& fd) noexcept;

}  // namespace tracer::internal
