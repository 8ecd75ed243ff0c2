// SPDX-License-Identifier: Apache-2.0
/*
 * In place of NVIDIA's driver library, for scripts/on_gpu: a GPU of 1 GiB with one queue, which does what the two
 * kernels of scripts/lib/gpu_calls.py do. Its memory is that of the process. fake_cuda.c is for programs that need no
 * GPU that works.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSuccess = 0, kInvalid = 1, kOutOfMemory = 2 };
enum { kAddOne = 1, kSpin = 2 };

static const size_t kCapacity = 1u << 30;
static uint64_t idle_from_ns;
static int context;
static char name[] = "Fake GPU";

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t end_of_queue(void) { return idle_from_ns > now_ns() ? idle_from_ns : now_ns(); }

static int wait(void) {
  const struct timespec until = {(time_t)(idle_from_ns / 1000000000), (long)(idle_from_ns % 1000000000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  return kSuccess;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuDeviceGetCount(int* count) { return *count = getenv("FAKE_GPU_NONE") ? 0 : 1, kSuccess; }
int cuDeviceGet(int* device, int number) { return *device = number, kSuccess; }
int cuDeviceGetName(char* text, int size, int device) { return strncpy(text, name, (size_t)size), device; }
int cuDevicePrimaryCtxRetain(void** made, int device) { return *made = &context, device; }
int cuCtxSetCurrent(void* wanted) { return wanted == &context ? kSuccess : kInvalid; }
int cuCtxPushCurrent_v2(void* wanted) { return wanted == &context ? kSuccess : kInvalid; }
int cuCtxPopCurrent_v2(void** popped) { return *popped = &context, kSuccess; }
int cuModuleLoadData(void** module, const char* text) {
  return *module = &context, strstr(text, ".entry") ? kSuccess : kInvalid;
}

int cuModuleGetFunction(void** function, void* module, const char* kernel) {
  (void)module;
  *function = (void*)(intptr_t)(strcmp(kernel, "spin") == 0 ? kSpin : kAddOne);
  return kSuccess;
}

int cuMemGetInfo_v2(size_t* unused, size_t* total) { return *unused = *total = kCapacity, kSuccess; }

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  void* memory = bytes > kCapacity ? NULL : calloc(1, bytes);
  *address = (uint64_t)(uintptr_t)memory;
  return memory ? kSuccess : kOutOfMemory;
}

int cuMemAllocPitch_v2(uint64_t* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  *pitch = width + element;
  return cuMemAlloc_v2(address, *pitch * height);
}

int cuMemFree_v2(uint64_t address) { return free((void*)(uintptr_t)address), kSuccess; }
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return memcpy((void*)(uintptr_t)to, from, bytes), kSuccess;
}

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return wait();
}

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned in_x, unsigned in_y, unsigned in_z,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  const uint64_t parameter = *(const uint64_t*)parameters[0];

  if (!stream || extra || x * y * z * in_x * in_y * in_z != 1 || shared) return kInvalid;
  if ((intptr_t)function == kSpin)
    idle_from_ns = end_of_queue() + parameter;
  else
    ++*(uint32_t*)(uintptr_t)parameter;
  return kSuccess;
}

int cuStreamCreate(void** stream, unsigned flags) { return *stream = &context, (int)flags; }
int cuStreamSynchronize(void* stream) { return stream ? wait() : kInvalid; }
int cuCtxSynchronize(void) { return wait(); }
int cuEventCreate(uint64_t** event, unsigned flags) { return *event = calloc(1, sizeof(**event)), (int)flags; }
int cuEventRecord(uint64_t* event, void* stream) { return *event = end_of_queue(), stream ? kSuccess : kInvalid; }
int cuEventSynchronize(const uint64_t* event) { return event ? wait() : kInvalid; }
int cuEventElapsedTime(float* ms, const uint64_t* first, const uint64_t* last) {
  return *ms = (float)(*last - *first) / 1e6f, kSuccess;
}
