// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer::internal {

/// This process and its descendants can't type into their terminal any more (TIOCSTI, TIOCLINUX), which is that of the
/// shell of another user. Nothing where there is no terminal. Between fork and exec, while still privileged, and so
/// async-signal-safe. False: errno says why.
bool refuse_typing() noexcept;

}  // namespace tracer::internal
