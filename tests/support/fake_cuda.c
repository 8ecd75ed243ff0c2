// SPDX-License-Identifier: Apache-2.0
/*
 * In place of NVIDIA's driver library: functions of its names, which take known times and give known results. Handles of
 * streams and events are milliseconds, and so is the size of a copy. Without a C library, so that a static program can map
 * it by itself. FEW: it lacks most of them.
 */
#include <stddef.h>

#define MOST_BYTES (1ull << 30)
#define OUT_OF_MEMORY 2
#define INVALID 1

struct time {
	long seconds;
	long nanoseconds;
};

static void sleep_ms(unsigned long long milliseconds)
{
	struct time time = {(long)(milliseconds / 1000), (long)(milliseconds % 1000 * 1000000)};
#if defined(__x86_64__)
	register long number __asm__("rax") = 35;
	register struct time *wanted __asm__("rdi") = &time;
	register struct time *left __asm__("rsi") = NULL;
	__asm__ volatile("syscall" : "+r"(number) : "r"(wanted), "r"(left) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = 101;
	register struct time *wanted __asm__("x0") = &time;
	register struct time *left __asm__("x1") = NULL;
	__asm__ volatile("svc #0" : "+r"(wanted) : "r"(number), "r"(left) : "memory");
#endif
}

static int give(unsigned long long *address, size_t bytes)
{
	if (bytes == 0)
		return INVALID;
	if (bytes > MOST_BYTES)
		return OUT_OF_MEMORY;
	*address = 0x7000000000ull;
	return 0;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuStreamSynchronize(unsigned long long stream);

int cuMemAlloc_v2(unsigned long long *address, size_t bytes) { return give(address, bytes); }

int cuMemFree_v2(unsigned long long address) { return address == 1 ? INVALID : 0; }

int cuStreamSynchronize(unsigned long long stream)
{
	sleep_ms(stream);
	return 0;
}

#ifndef FEW
int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned flags);
int cuMemAllocPitch_v2(unsigned long long *address, size_t *pitch, size_t width, size_t height, unsigned element);
int cuCtxSynchronize(void);
int cuEventSynchronize(unsigned long long event);
int cuMemcpyDtoH_v2(void *host, unsigned long long device, size_t bytes);
int cuCtxSetCurrent(void *context);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuLaunchKernel(void *function);

int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned flags)
{
	(void)flags;
	return give(address, bytes);
}

int cuMemAllocPitch_v2(unsigned long long *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	(void)element;
	*pitch = width;
	return give(address, width * height);
}

int cuCtxSynchronize(void)
{
	sleep_ms(10);
	return 0;
}

/* The time was not in vain, though the device has failed. */
int cuEventSynchronize(unsigned long long event)
{
	sleep_ms(event);
	return 700;
}

/* Calls another function that is counted. */
int cuMemcpyDtoH_v2(void *host, unsigned long long device, size_t bytes)
{
	(void)host;
	(void)device;
	return cuStreamSynchronize(bytes) == 0 ? 0 : INVALID;
}

int cuCtxSetCurrent(void *context) { return context == NULL ? INVALID : 0; }

int cuCtxPushCurrent_v2(void *context) { return context == NULL ? INVALID : 0; }

int cuCtxPopCurrent_v2(void **context)
{
	*context = context;
	return 0;
}

int cuLaunchKernel(void *function) { return function == NULL ? INVALID : 0; }
#endif
