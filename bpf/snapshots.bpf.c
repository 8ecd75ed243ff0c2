// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What tracked processes have open just now, and how far they have come in it. */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "process_maps.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracer_wire_file);
} file_buffer SEC(".maps");

const volatile __u64 least_bytes = 0; /* smaller files are done before anybody looks */

SEC("iter/task_file")
int open_files(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	__u32 slot = 0;

	if (!task || !file || task->pid != task->tgid)
		return 0;
	struct inode *inode = file->f_inode;
	if ((inode->i_mode & S_IFMT) != S_IFREG || inode->i_size <= 0 || (__u64)inode->i_size < least_bytes)
		return 0;
	struct tracer_process *process = process_of(task);
	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	struct tracer_wire_file *record = bpf_map_lookup_elem(&file_buffer, &slot);
	if (!record)
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	record->header.kind = TRACER_WIRE_FILE;
	record->header.size = sizeof(*record);
	record->header.time_ns = bpf_ktime_get_boot_ns();
	record->header.start_ns = process->start_ns;
	record->header.pid = process->pid;
	record->header.cpu = bpf_get_smp_processor_id();
	record->inode = inode->i_ino;
	record->size_bytes = inode->i_size;
	record->position_bytes = file->f_pos > 0 ? file->f_pos : 0;
	record->device = inode->i_sb->s_dev;
	record->fd = context->fd;
	record->readable = (file->f_mode & FMODE_READ) != 0;
	record->writable = (file->f_mode & FMODE_WRITE) != 0;
	bpf_probe_read_kernel_str(record->name, sizeof(record->name), file->f_path.dentry->d_name.name);
	bpf_seq_write(context->meta->seq, record, sizeof(*record));
	return 0;
}
