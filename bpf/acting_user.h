/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user that a process acts as. */
#ifndef TRACER_ACTING_USER_H
#define TRACER_ACTING_USER_H

#include "wire.h"

/* Any id that is not the real one counts: a saved one may become effective again. */
static __always_inline __u32 other_than_real(__u32 uid, __u32 euid, __u32 suid, __u32 fsuid)
{
	if (fsuid != uid)
		return fsuid;
	return euid != uid ? euid : suid;
}

/* Global, so that it is verified once, not for each way to it. */
__noinline __u32 user_other_than_real(void)
{
	/* By plain loads where there is such a pointer, as in current_process.h. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		const struct cred *cred = bpf_get_current_task_btf()->cred;
		return other_than_real(cred->uid.val, cred->euid.val, cred->suid.val, cred->fsuid.val);
	}
	struct task_struct *current = (void *)bpf_get_current_task();
	const struct cred *cred = BPF_CORE_READ(current, cred);
	return other_than_real(BPF_CORE_READ(cred, uid.val), BPF_CORE_READ(cred, euid.val),
			       BPF_CORE_READ(cred, suid.val), BPF_CORE_READ(cred, fsuid.val));
}

/* Of the process that runs now. */
static __always_inline __u32 acting_user(const struct tracer_process *process)
{
	return process->flags & TRACER_FLAG_OTHER_USER ? TRACER_USER_OF_PROGRAM : user_other_than_real();
}

#endif
