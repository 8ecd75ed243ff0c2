/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a session or a recording as figures: the sums of its events, and how complete they are. */
#ifndef TRACER_REPORT_H
#define TRACER_REPORT_H

#include <tracer/recording.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds up events, in bounded memory. Thread-safe. May outlive the session that it follows. */
typedef struct tracer_summary tracer_summary;

/* @since 0.1. A summary of the events that tracer_summary_add() and tracer_summary_read() add. */
TRACER_API tracer_status tracer_summary_new(tracer_summary** out, tracer_error* error);
/* @since 0.1. Follows a session from now on: call it before tracer_session_start() for all of it. Events are added on
 * the thread that runs the session's callbacks. TRACER_ENDED. */
TRACER_API tracer_status tracer_session_summarize(tracer_session* session, tracer_summary** out, tracer_error* error);
/* @since 0.1. Add events in the order of their time. TRACER_ERROR_INVALID_ARGUMENT: it follows a session. */
TRACER_API tracer_status tracer_summary_add(tracer_summary* summary, const tracer_event* event, tracer_error* error);
/* @since 0.1. Adds the rest of a recording. TRACER_ERROR_INVALID_ARGUMENT: it follows a session;
 * TRACER_ERROR_FILE_UNREADABLE. */
TRACER_API tracer_status tracer_summary_read(tracer_summary* summary, tracer_recording* recording, tracer_error* error);
/* @since 0.1. Reports from now on have the cost of the waste, by the price in a file that `tracer prices use` has
 * written. TRACER_ERROR_FILE_UNREADABLE: also if it is damaged; the price from before stays. */
TRACER_API tracer_status tracer_summary_use_price(tracer_summary* summary, tracer_string file, tracer_error* error);
/* @since 0.1. The report of all events so far, as one JSON object without a line end: docs/report.md describes it. The
 * report of a session is final after tracer_session_stop(); its kernel figures are the present ones, or those of its
 * end. */
TRACER_API tracer_status tracer_report_json(const tracer_summary* summary, tracer_text** out, tracer_error* error);
/* @since 0.1. Waits for a callback that adds to it. In a forked child, it only discards the handle. */
TRACER_API void tracer_summary_free(tracer_summary* summary);

#ifdef __cplusplus
}
#endif

#endif
