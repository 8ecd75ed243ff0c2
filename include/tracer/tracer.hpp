// SPDX-License-Identifier: Apache-2.0
/// Everything public.
#pragma once

#include <tracer/answers.hpp>
#include <tracer/check.hpp>
#include <tracer/context.hpp>
#include <tracer/error.hpp>
#include <tracer/event.hpp>
#include <tracer/filter.hpp>
#include <tracer/host.hpp>
#include <tracer/key.hpp>
#include <tracer/past.hpp>
#include <tracer/recording.hpp>
#include <tracer/report.hpp>
#include <tracer/run.hpp>
#include <tracer/session.hpp>
#include <tracer/sink.hpp>
#include <tracer/source.hpp>
#include <tracer/statistics.hpp>
#include <tracer/subscription.hpp>
#include <tracer/summary.hpp>
#include <tracer/table.hpp>
#include <tracer/version.hpp>
