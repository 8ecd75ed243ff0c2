// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "terminal/patient_write.hpp"

namespace tracerd {

/// Before rights are given up: a terminal that is standard error is opened anew, so that it can be written to without
/// being waited for; the description that was inherited is others', too, and stays as it is.
void open_messages() noexcept;

/// Writes to standard error. Of a terminal's what it does not take at once is kept for later. Failures are passed over.
void put_message(std::string_view text);

/// A message can be written at once, as none waits.
bool messages_flow();

/// What was kept, and then this, as write_patiently(). What was given up is kept no longer.
Written write_messages(std::string_view text, const std::function<bool()>& go_on);

}  // namespace tracerd
