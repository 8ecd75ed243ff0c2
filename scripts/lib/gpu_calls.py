# SPDX-License-Identifier: Apache-2.0
"""A program whose use of a GPU is known. It calls the exported functions of NVIDIA's driver library, counts what it asks for
under the names of the fields of gpu_use, and writes that to FILE as JSON.

usage: gpu_calls.py look|count|busy FILE
   look    which GPU is there
   count   allocations, copies, launches and waits; then how long some calls take
   busy    for some seconds, holds memory and keeps the GPU busy half of the time
"""
import ctypes
import json
import os
import sys
import time

MIB = 1 << 20
BUSY_SECONDS = 8
HELD_BYTES = 512 * MIB
SPIN_NS = 5_000_000
WORD_BYTES = 4
wide = ctypes.c_uint64

# One adds 1 to a word; the other keeps the GPU busy for so many nanoseconds.
KERNELS = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 word)
{
  .reg .u64 %address<3>;
  .reg .u32 %value<3>;
  ld.param.u64 %address1, [word];
  cvta.to.global.u64 %address2, %address1;
  ld.global.u32 %value1, [%address2];
  add.u32 %value2, %value1, 1;
  st.global.u32 [%address2], %value2;
  ret;
}
.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .u64 %time<5>;
  .reg .pred %goes_on;
  ld.param.u64 %time1, [nanoseconds];
  mov.u64 %time2, %globaltimer;
again:
  mov.u64 %time3, %globaltimer;
  sub.u64 %time4, %time3, %time2;
  setp.lt.u64 %goes_on, %time4, %time1;
  @%goes_on bra again;
  ret;
}
"""


class Driver:
    """The first GPU, and what was asked of it."""

    def __init__(self):
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"no CUDA here: {error}")
        self.truth = dict.fromkeys(("allocations", "allocated_bytes", "failed_allocations", "frees", "waits", "wait_ns",
                                    "context_switches", "launches", "copies_to_gpu"), 0)
        count, device = ctypes.c_int(), ctypes.c_int()
        status = self.status("cuInit", 0) or self.status("cuDeviceGetCount", ctypes.byref(count))
        if status or count.value == 0:
            sys.exit(f"no NVIDIA GPU here: the driver knows {count.value} of them, with status {status}")
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name, version = ctypes.create_string_buffer(96), ctypes.c_int()
        self.call("cuDeviceGetName", name, 96, device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name = f"{name.value.decode(errors='replace')}, CUDA {version.value // 1000}.{version.value % 1000 // 10}"
        self.context, self.stream, module = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.switch()
        self.call("cuModuleLoadData", ctypes.byref(module), KERNELS)
        self.kernels = {}
        for kernel in ("add_one", "spin"):
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
            self.kernels[kernel] = function
        self.call("cuStreamCreate", ctypes.byref(self.stream), 0)

    def status(self, name, *arguments):
        return getattr(self._library, name)(*arguments)

    def call(self, name, *arguments):
        status = self.status(name, *arguments)
        if status:
            sys.exit(f"the driver's {name}() failed, with status {status}")

    def switch(self):
        self.call("cuCtxSetCurrent", self.context)
        self.truth["context_switches"] += 1

    def push_and_pop(self):
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.truth["context_switches"] += 2

    def allocate(self, size):
        address = wide()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._allocated(size)
        return address

    def allocate_rows(self, width, height):
        address, pitch = wide(), ctypes.c_size_t()
        self.call("cuMemAllocPitch_v2", ctypes.byref(address), ctypes.byref(pitch), ctypes.c_size_t(width),
                  ctypes.c_size_t(height), 4)
        self._allocated(width * height)
        return address

    def _allocated(self, size):
        self.truth["allocations"] += 1
        self.truth["allocated_bytes"] += size

    def allocate_too_much(self):
        free, total, address = ctypes.c_size_t(), ctypes.c_size_t(), wide()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        if self.status("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(2 * total.value)) == 0:
            sys.exit("the driver gave twice the memory that the GPU has")
        self.truth["failed_allocations"] += 1

    def free(self, address):
        self.call("cuMemFree_v2", address)
        self.truth["frees"] += 1

    def launch(self, kernel, argument):
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        self.call("cuLaunchKernel", self.kernels[kernel], 1, 1, 1, 1, 1, 1, 0, self.stream, parameters, None)
        self.truth["launches"] += 1

    def wait(self, name, *arguments):
        begin = time.perf_counter_ns()
        self.call(name, *arguments)
        self.truth["wait_ns"] += time.perf_counter_ns() - begin
        self.truth["waits"] += 1

    def write(self, address, value):
        self.call("cuMemcpyHtoD_v2", address, ctypes.byref(ctypes.c_uint32(value)), ctypes.c_size_t(WORD_BYTES))
        self.truth["copies_to_gpu"] += 1

    def read(self, address):
        value = ctypes.c_uint32()
        self.wait("cuMemcpyDtoH_v2", ctypes.byref(value), address, ctypes.c_size_t(WORD_BYTES))
        return value.value

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def record(self, event):
        self.call("cuEventRecord", event, self.stream)

    def milliseconds(self, first, last):
        between = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(between), first, last)
        return between.value


def count(driver):
    memory = [driver.allocate(MIB) for _ in range(100)] + [driver.allocate(3 * MIB) for _ in range(20)]
    memory += [driver.allocate_rows(1000, 50) for _ in range(3)]
    for _ in range(5):
        driver.allocate_too_much()
    driver.write(memory[0], 7)
    for _ in range(1000):
        driver.launch("add_one", memory[0])
    driver.wait("cuCtxSynchronize")
    if (got := driver.read(memory[0])) != 1007:
        sys.exit(f"1000 kernels that add 1 to 7 made {got} of it")
    event = driver.event()
    for _ in range(20):
        for name, arguments in (("cuStreamSynchronize", (driver.stream,)), ("cuEventSynchronize", (event,)),
                                ("cuCtxSynchronize", ())):
            driver.launch("spin", wide(SPIN_NS))
            driver.record(event)
            driver.wait(name, *arguments)
        driver.push_and_pop()
        driver.read(memory[1])
    for address in memory:
        driver.free(address)
    for _ in range(3):  # These do nothing, and are not counted.
        driver.call("cuMemFree_v2", wide(0))
    return {"us_per_call": paces(driver)}


def paces(driver):
    """Microseconds, by what is called; with what Python adds."""
    word = driver.allocate(MIB)
    calls = {"cuMemAlloc_v2 and cuMemFree_v2": (2000, lambda: driver.free(driver.allocate(MIB))),
             "cuStreamSynchronize, nothing to wait for": (5000, lambda: driver.wait("cuStreamSynchronize", driver.stream)),
             "cuLaunchKernel, not probed": (5000, lambda: driver.launch("add_one", word))}
    found = {}
    for name, (times, call) in calls.items():
        begin = time.perf_counter_ns()
        for _ in range(times):
            call()
        found[name] = (time.perf_counter_ns() - begin) / times / 1000
        driver.wait("cuCtxSynchronize")
    driver.free(word)
    return found


def busy(driver):
    driver.allocate(HELD_BYTES)
    first, last = driver.event(), driver.event()
    begin = time.monotonic()
    busy_ms = 0
    while time.monotonic() - begin < BUSY_SECONDS:
        driver.record(first)
        driver.launch("spin", wide(4 * SPIN_NS))
        driver.record(last)
        driver.wait("cuEventSynchronize", last)
        busy_ms += driver.milliseconds(first, last)
        time.sleep(4 * SPIN_NS / 1e9)
    return {"held_bytes": HELD_BYTES, "busy_share": busy_ms / 1000 / (time.monotonic() - begin)}


def main():
    does = {"look": lambda driver: {"gpu": driver.name}, "count": count, "busy": busy}
    if len(sys.argv) != 3 or sys.argv[1] not in does:
        sys.exit(__doc__)
    driver = Driver()
    found = does[sys.argv[1]](driver)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(found | {"pid": os.getpid(), "truth": driver.truth}, file)


if __name__ == "__main__":
    main()
