// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/families.hpp>
#include <tracer/session.h>

namespace tracer::c {

constexpr tracer_families bit_of(Family family) noexcept { return tracer_families{1} << static_cast<unsigned>(family); }

}  // namespace tracer::c
