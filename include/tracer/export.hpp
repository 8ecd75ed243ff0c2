// SPDX-License-Identifier: Apache-2.0
#pragma once

#define TRACER_EXPORT __attribute__((visibility("default")))
