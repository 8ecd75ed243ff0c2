SELECT n.task_key AS key, t.pipeline::VARCHAR AS pipeline, coalesce(n.step, n.tool, n.task, 'task') AS step, requested_memory_bytes,
    requested_millicpus, requested_container::VARCHAR AS image, storage_read_bytes, storage_written_bytes, network_sent_bytes,
    network_received_bytes, b.bound_by, b.bound_share, b.wall_ns
FROM tasks_last AS t
JOIN task_names AS n ON n.task_key = t.task_key::VARCHAR
LEFT JOIN bound_by AS b ON b.task_key = n.task_key
