/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread has said of the processes that it makes: Session::label_thread(). A label has a serial that is never
 * used again; it is open until its scope ends. A thread's own label comes first, then that with which it was made; a
 * thread may also have said that it has none.
 */
#ifndef TRACER_LABELS_H
#define TRACER_LABELS_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} thread_labels SEC(".maps");

/* Of threads that a labeled thread has made. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} inherited_labels SEC(".maps");

/* By serial: the context id, 0 for none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} open_labels SEC(".maps");

/* Set with the first label; before that nobody is asked. */
__u32 labels_in_use = 0;

/* The serial of the thread's label that is open, and its context id; 0: none. */
static __always_inline __u64 label_of(struct task_struct *thread, __u32 *context_id)
{
	__u32 tid = shown_tid(thread);
	__u64 *serial = bpf_map_lookup_elem(&thread_labels, &tid);

	if (serial && *serial == TRACER_NO_LABEL)
		return 0;
	__u32 *context = serial ? bpf_map_lookup_elem(&open_labels, serial) : NULL;

	if (!context) {
		serial = bpf_map_lookup_elem(&inherited_labels, &tid);
		context = serial ? bpf_map_lookup_elem(&open_labels, serial) : NULL;
	}
	if (!serial || !context)
		return 0;
	*context_id = *context;
	return *serial;
}

/* Thread ids come again. */
static __always_inline void forget_label(__u32 tid)
{
	bpf_map_delete_elem(&thread_labels, &tid);
	bpf_map_delete_elem(&inherited_labels, &tid);
}

/* A thread begins with the label of the one that makes it. */
static __always_inline void inherit_label(struct task_struct *thread, struct task_struct *maker)
{
	__u32 tid = shown_tid(thread);
	__u32 context_id;
	__u64 serial = label_of(maker, &context_id);

	/* Thread ids come again, and of one that an exec ended nobody may have known what is shown of it. */
	if (!serial)
		forget_label(tid);
	else if (bpf_map_update_elem(&inherited_labels, &tid, &serial, BPF_ANY))
		count_loss(TRACER_LOSS_LABEL_TABLE);
}

#endif
