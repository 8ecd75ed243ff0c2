// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace truth {

/// Has the kernel make a thread of its own in this process, and end it again. False: this kernel has or allows no
/// io_uring.
bool make_kernel_worker(bool polling);

}  // namespace truth
