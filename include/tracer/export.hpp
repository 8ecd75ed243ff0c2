// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__cplusplus) && __cplusplus < 202002L
#error "libtracer needs C++20: compile with -std=c++20"
#endif

#define TRACER_EXPORT __attribute__((visibility("default")))
