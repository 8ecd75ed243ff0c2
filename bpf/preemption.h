/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Since tracepoints are guarded by SRCU (seen on 7.2), what runs at one in a task's own time may be preempted. The kernel
 * then skips the same program for every other task on that CPU, and a switch may book what is just being booked. So
 * such programs have a twin that keeps the CPU until it is done; user space loads one of the two.
 */
#ifndef TRACER_PREEMPTION_H
#define TRACER_PREEMPTION_H

/* Since fc7566ad0a82 (6.10). */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;

#define DEFINE_PROGRAMS(tracepoint, name, call, ...) \
	SEC("tp_btf/" tracepoint)                    \
	int BPF_PROG(name, __VA_ARGS__)              \
	{                                            \
		call;                                \
		return 0;                            \
	}                                            \
	SEC("tp_btf/" tracepoint)                    \
	int BPF_PROG(name##_held, __VA_ARGS__)       \
	{                                            \
		bpf_preempt_disable();               \
		call;                                \
		bpf_preempt_enable();                \
		return 0;                            \
	}

#endif
