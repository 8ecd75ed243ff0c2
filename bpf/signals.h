/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who sends the signals that may end a process. */
#ifndef TRACER_SIGNALS_H
#define TRACER_SIGNALS_H

#define SIGNAL_BIT(number) (1ull << (number))
#define HARMLESS_SIGNALS                                                                                               \
	(SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | \
	 SIGNAL_BIT(SIGTTOU) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))

static __always_inline bool may_end_process(int number)
{
	return number > 0 && number <= 64 && (number == 64 || !(HARMLESS_SIGNALS & SIGNAL_BIT(number)));
}

/* `address`: of what is said of it, or one of the constants. */
static __always_inline __u32 sender_of(struct task_struct *target, __u64 address)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct kernel_siginfo *said = (void *)address;

	if (address == SEND_SIG_PRIV || (BPF_CORE_READ(current, flags) & PF_KTHREAD))
		return TRACER_SENDER_KERNEL;
	/* To itself no process sends one without saying so: a system call has led to it, such as a write (SIGPIPE). */
	if (address == SEND_SIG_NOINFO)
		return bpf_get_current_pid_tgid() >> 32 == target->tgid ? TRACER_SENDER_KERNEL : TRACER_SENDER_PROCESS;
	int code = BPF_CORE_READ(said, si_code);
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL ? TRACER_SENDER_PROCESS : TRACER_SENDER_KERNEL;
}

/* The signal lock of the process is held: nobody else writes this. */
static __always_inline void note_signal(struct tracer_process *process, struct task_struct *target, int number,
					__u64 said, int result)
{
	__u32 sender = sender_of(target, said);

	/* Also where it is ignored or blocked: the write fails then. */
	if (number == SIGPIPE && sender == TRACER_SENDER_KERNEL)
		process->broken_pipe_ns = bpf_ktime_get_boot_ns();
	if (result != TRACE_SIGNAL_DELIVERED && result != TRACE_SIGNAL_LOSE_INFO)
		return;
	process->fatal_signal = number;
	process->signal_sender = sender;
	process->signal_sender_pid = sender == TRACER_SENDER_PROCESS ? shown_current_pid() : 0;
}

#endif
