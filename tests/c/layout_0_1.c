/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that were built with 0.1 have compiled into them, on machines of 64 bits: never change a line of it. A
 * struct that begins with `size` may grow at its end, and nowhere else. */
#include <stddef.h>

#include <tracer.h>

#if UINTPTR_MAX == UINT64_MAX

#define AT(type, member, offset, bytes)                                                       \
  _Static_assert(offsetof(type, member) == (offset) && sizeof(((type*)0)->member) == (bytes), \
                 #type " has moved: " #member)
#define WHOLE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")
#define AT_LEAST(type, bytes) _Static_assert(sizeof(type) >= (bytes), #type " has lost something")

WHOLE(tracer_string, 16);
AT(tracer_string, data, 0, 8);
AT(tracer_string, length, 8, 8);

AT_LEAST(tracer_error, 48);
AT(tracer_error, size, 0, 8);
AT(tracer_error, status, 8, 4);
AT(tracer_error, error_number, 12, 4);
AT(tracer_error, problem_count, 16, 8);
AT(tracer_error, text, 24, 16);
AT(tracer_error, private_data, 40, 8);

AT_LEAST(tracer_problem, 64);
AT(tracer_problem, size, 0, 8);
AT(tracer_problem, status, 8, 4);
AT(tracer_problem, error_number, 12, 4);
AT(tracer_problem, what, 16, 16);
AT(tracer_problem, fix, 32, 16);
AT(tracer_problem, detail, 48, 16);

AT_LEAST(tracer_command_options, 80);
AT(tracer_command_options, size, 0, 8);
AT(tracer_command_options, argv, 8, 8);
AT(tracer_command_options, argc, 16, 8);
AT(tracer_command_options, user, 24, 16);
AT(tracer_command_options, prepare, 40, 8);
AT(tracer_command_options, prepare_data, 48, 8);
AT(tracer_command_options, environment, 56, 8);
AT(tracer_command_options, environment_count, 64, 8);
AT(tracer_command_options, at_once, 72, 4);
AT(tracer_command_options, reserved, 76, 4);

WHOLE(tracer_name_value, 32);
AT(tracer_name_value, name, 0, 16);
AT(tracer_name_value, value, 16, 16);

AT_LEAST(tracer_context, 144);
AT(tracer_context, size, 0, 8);
AT(tracer_context, pipeline, 8, 16);
AT(tracer_context, run, 24, 16);
AT(tracer_context, step, 40, 16);
AT(tracer_context, sample, 56, 16);
AT(tracer_context, task, 72, 16);
AT(tracer_context, task_id, 88, 16);
AT(tracer_context, engine, 104, 16);
AT(tracer_context, labels, 120, 8);
AT(tracer_context, label_count, 128, 8);
AT(tracer_context, attempt, 136, 4);
AT(tracer_context, reserved, 140, 4);

AT_LEAST(tracer_filter_rule, 48);
AT(tracer_filter_rule, size, 0, 8);
AT(tracer_filter_rule, subject, 8, 4);
AT(tracer_filter_rule, exclude, 12, 4);
AT(tracer_filter_rule, number, 16, 8);
AT(tracer_filter_rule, text, 24, 16);
AT(tracer_filter_rule, context, 40, 8);

AT_LEAST(tracer_announcement, 128);
AT(tracer_announcement, size, 0, 8);
AT(tracer_announcement, key, 8, 4);
AT(tracer_announcement, pid, 12, 4);
AT(tracer_announcement, start_ns, 16, 8);
AT(tracer_announcement, text, 24, 16);
AT(tracer_announcement, argv, 40, 8);
AT(tracer_announcement, argc, 48, 8);
AT(tracer_announcement, context, 56, 8);
AT(tracer_announcement, requested_millicpus, 64, 8);
AT(tracer_announcement, requested_memory_bytes, 72, 8);
AT(tracer_announcement, requested_time_ns, 80, 8);
AT(tracer_announcement, requested_container, 88, 16);
AT(tracer_announcement, requested_tag, 104, 16);
AT(tracer_announcement, expires_after_ms, 120, 8);

AT_LEAST(tracer_field_info, 40);
AT(tracer_field_info, size, 0, 8);
AT(tracer_field_info, field, 8, 8);
AT(tracer_field_info, name, 16, 16);
AT(tracer_field_info, kind, 32, 2);
AT(tracer_field_info, type, 34, 1);
AT(tracer_field_info, unit, 35, 1);
AT(tracer_field_info, nullable, 36, 1);
AT(tracer_field_info, list, 37, 1);
AT(tracer_field_info, reserved, 38, 2);

AT_LEAST(tracer_event_flat, 496);
AT(tracer_event_flat, size, 0, 8);
AT(tracer_event_flat, present, 8, 8);
AT(tracer_event_flat, time_ns, 16, 8);
AT(tracer_event_flat, start_ns, 24, 8);
AT(tracer_event_flat, parent_start_ns, 32, 8);
AT(tracer_event_flat, end_ns, 40, 8);
AT(tracer_event_flat, attached_ns, 48, 8);
AT(tracer_event_flat, threads, 56, 8);
AT(tracer_event_flat, processes, 64, 8);
AT(tracer_event_flat, count, 72, 8);
AT(tracer_event_flat, cpu_ns, 80, 8);
AT(tracer_event_flat, user_ns, 88, 8);
AT(tracer_event_flat, system_ns, 96, 8);
AT(tracer_event_flat, run_queue_ns, 104, 8);
AT(tracer_event_flat, minor_faults, 112, 8);
AT(tracer_event_flat, major_faults, 120, 8);
AT(tracer_event_flat, voluntary_switches, 128, 8);
AT(tracer_event_flat, involuntary_switches, 136, 8);
AT(tracer_event_flat, peak_rss_bytes, 144, 8);
AT(tracer_event_flat, read_bytes, 152, 8);
AT(tracer_event_flat, written_bytes, 160, 8);
AT(tracer_event_flat, storage_read_bytes, 168, 8);
AT(tracer_event_flat, storage_written_bytes, 176, 8);
AT(tracer_event_flat, rss_anonymous_bytes, 184, 8);
AT(tracer_event_flat, rss_file_bytes, 192, 8);
AT(tracer_event_flat, rss_shared_bytes, 200, 8);
AT(tracer_event_flat, peak_bytes, 208, 8);
AT(tracer_event_flat, memory_bytes, 216, 8);
AT(tracer_event_flat, pid, 224, 4);
AT(tracer_event_flat, parent_pid, 228, 4);
AT(tracer_event_flat, uid, 232, 4);
AT(tracer_event_flat, attempt, 236, 4);
AT(tracer_event_flat, exit_code, 240, 4);
AT(tracer_event_flat, exit_signal, 244, 4);
AT(tracer_event_flat, failed, 248, 4);
AT(tracer_event_flat, kind, 252, 2);
AT(tracer_event_flat, reserved, 254, 2);
AT(tracer_event_flat, comm, 256, 16);
AT(tracer_event_flat, exe, 272, 16);
AT(tracer_event_flat, cwd, 288, 16);
AT(tracer_event_flat, tool, 304, 16);
AT(tracer_event_flat, cgroup, 320, 16);
AT(tracer_event_flat, container_id, 336, 16);
AT(tracer_event_flat, pipeline, 352, 16);
AT(tracer_event_flat, run, 368, 16);
AT(tracer_event_flat, step, 384, 16);
AT(tracer_event_flat, sample, 400, 16);
AT(tracer_event_flat, task, 416, 16);
AT(tracer_event_flat, task_id, 432, 16);
AT(tracer_event_flat, engine, 448, 16);
AT(tracer_event_flat, run_id, 464, 16);
AT(tracer_event_flat, cause, 480, 16);

AT_LEAST(tracer_family_state, 104);
AT(tracer_family_state, size, 0, 8);
AT(tracer_family_state, name, 8, 16);
AT(tracer_family_state, mechanism, 24, 16);
AT(tracer_family_state, family, 40, 4);
AT(tracer_family_state, active, 44, 1);
AT(tracer_family_state, has_problem, 45, 1);
AT(tracer_family_state, reserved, 46, 2);
AT(tracer_family_state, status, 48, 4);
AT(tracer_family_state, error_number, 52, 4);
AT(tracer_family_state, what, 56, 16);
AT(tracer_family_state, fix, 72, 16);
AT(tracer_family_state, detail, 88, 16);

AT_LEAST(tracer_check_item, 104);
AT(tracer_check_item, size, 0, 8);
AT(tracer_check_item, name, 8, 16);
AT(tracer_check_item, effect, 24, 16);
AT(tracer_check_item, required, 40, 1);
AT(tracer_check_item, available, 41, 1);
AT(tracer_check_item, reserved, 42, 2);
AT(tracer_check_item, status, 44, 4);
AT(tracer_check_item, error_number, 48, 4);
AT(tracer_check_item, reserved2, 52, 4);
AT(tracer_check_item, what, 56, 16);
AT(tracer_check_item, fix, 72, 16);
AT(tracer_check_item, detail, 88, 16);

AT_LEAST(tracer_statistics, 128);
AT(tracer_statistics, size, 0, 8);
AT(tracer_statistics, present, 8, 8);
AT(tracer_statistics, records, 16, 8);
AT(tracer_statistics, record_bytes, 24, 8);
AT(tracer_statistics, events, 32, 8);
AT(tracer_statistics, callback_errors, 40, 8);
AT(tracer_statistics, secrets_masked, 48, 8);
AT(tracer_statistics, announcements_met, 56, 8);
AT(tracer_statistics, announcements_expired, 64, 8);
AT(tracer_statistics, announcements_refused, 72, 8);
AT(tracer_statistics, lost, 80, 8);
AT(tracer_statistics, cost_cpu_ns, 88, 8);
AT(tracer_statistics, cost_snapshots_cpu_ns, 96, 8);
AT(tracer_statistics, cost_kernel_ns, 104, 8);
AT(tracer_statistics, cost_memory_bytes, 112, 8);
AT(tracer_statistics, cost_kernel_memory_bytes, 120, 8);

AT_LEAST(tracer_loss_count, 32);
AT(tracer_loss_count, size, 0, 8);
AT(tracer_loss_count, cause, 8, 16);
AT(tracer_loss_count, count, 24, 8);

AT_LEAST(tracer_totals, 304);
AT(tracer_totals, size, 0, 8);
AT(tracer_totals, present, 8, 8);
AT(tracer_totals, living, 16, 8);
AT(tracer_totals, ended, 24, 8);
AT(tracer_totals, failed, 32, 8);
AT(tracer_totals, cpu_ns, 40, 8);
AT(tracer_totals, user_ns, 48, 8);
AT(tracer_totals, system_ns, 56, 8);
AT(tracer_totals, run_queue_ns, 64, 8);
AT(tracer_totals, minor_faults, 72, 8);
AT(tracer_totals, major_faults, 80, 8);
AT(tracer_totals, voluntary_switches, 88, 8);
AT(tracer_totals, involuntary_switches, 96, 8);
AT(tracer_totals, read_bytes, 104, 8);
AT(tracer_totals, written_bytes, 112, 8);
AT(tracer_totals, storage_read_bytes, 120, 8);
AT(tracer_totals, storage_written_bytes, 128, 8);
AT(tracer_totals, storage_cancelled_bytes, 136, 8);
AT(tracer_totals, read_at_most_bytes, 144, 8);
AT(tracer_totals, read_calls, 152, 8);
AT(tracer_totals, write_calls, 160, 8);
AT(tracer_totals, pipeline, 168, 16);
AT(tracer_totals, run, 184, 16);
AT(tracer_totals, step, 200, 16);
AT(tracer_totals, sample, 216, 16);
AT(tracer_totals, task, 232, 16);
AT(tracer_totals, task_id, 248, 16);
AT(tracer_totals, engine, 264, 16);
AT(tracer_totals, labels, 280, 8);
AT(tracer_totals, label_count, 288, 8);
AT(tracer_totals, attempt, 296, 4);
AT(tracer_totals, reserved, 300, 4);

AT_LEAST(tracer_reason, 80);
AT(tracer_reason, size, 0, 8);
AT(tracer_reason, field, 8, 16);
AT(tracer_reason, value, 24, 16);
AT(tracer_reason, rule, 40, 16);
AT(tracer_reason, condition, 56, 16);
AT(tracer_reason, provenance, 72, 1);
AT(tracer_reason, overruled, 73, 1);
AT(tracer_reason, reserved, 74, 6);

AT_LEAST(tracer_queue_options, 40);
AT(tracer_queue_options, size, 0, 8);
AT(tracer_queue_options, kinds, 8, 8);
AT(tracer_queue_options, kind_count, 16, 8);
AT(tracer_queue_options, capacity_bytes, 24, 8);
AT(tracer_queue_options, apart, 32, 4);
AT(tracer_queue_options, wait_when_full, 36, 4);

AT_LEAST(tracer_host, 112);
AT(tracer_host, size, 0, 8);
AT(tracer_host, boot_id, 8, 16);
AT(tracer_host, host_name, 24, 16);
AT(tracer_host, kernel_release, 40, 16);
AT(tracer_host, architecture, 56, 16);
AT(tracer_host, tracer_version, 72, 16);
AT(tracer_host, memory_bytes, 88, 8);
AT(tracer_host, wall_offset_ns, 96, 8);
AT(tracer_host, cpu_count, 104, 4);
AT(tracer_host, reserved, 108, 4);

AT_LEAST(tracer_damage, 40);
AT(tracer_damage, size, 0, 8);
AT(tracer_damage, skipped_bytes, 8, 8);
AT(tracer_damage, skipped_events, 16, 8);
AT(tracer_damage, missing_frames, 24, 8);
AT(tracer_damage, read_error, 32, 4);
AT(tracer_damage, truncated, 36, 1);
AT(tracer_damage, any, 37, 1);
AT(tracer_damage, reserved, 38, 2);

AT_LEAST(tracer_session_options, 184);
AT(tracer_session_options, size, 0, 8);
AT(tracer_session_options, reader, 8, 4);
AT(tracer_session_options, families, 12, 4);
AT(tracer_session_options, rules, 16, 8);
AT(tracer_session_options, rule_count, 24, 8);
AT(tracer_session_options, ring_bytes, 32, 8);
AT(tracer_session_options, max_processes, 40, 8);
AT(tracer_session_options, max_contexts, 48, 8);
AT(tracer_session_options, max_labeled_threads, 56, 8);
AT(tracer_session_options, max_announcements, 64, 8);
AT(tracer_session_options, sample_interval_ms, 72, 8);
AT(tracer_session_options, max_cost_share, 80, 8);
AT(tracer_session_options, keep_secrets, 88, 4);
AT(tracer_session_options, skip_engine_notes, 92, 4);
AT(tracer_session_options, tool_rules, 96, 16);
AT(tracer_session_options, secret_rules, 112, 16);
AT(tracer_session_options, engine_rules, 128, 16);
AT(tracer_session_options, recording, 144, 16);
AT(tracer_session_options, on_error, 160, 8);
AT(tracer_session_options, on_error_data, 168, 8);
AT(tracer_session_options, on_error_destroy, 176, 8);

#endif
