# SPDX-License-Identifier: Apache-2.0
"""What only who has rights may do, tried out: by this process, or by a thread of another one that is made to try it.

As a program it tries all of it itself, and prints what came of each as JSON. Nothing that succeeds does harm, also for
root: what is asked for is refused for another reason then, or changes nothing.
"""

import ctypes
import errno
import json
import os
import platform
import signal
import socket
import stat
import struct
import sys
import time

SUPPORTED = platform.machine() == "x86_64"

# Of x86-64.
OPEN, CLOSE, GETPID, SOCKET, KILL, CHMOD, CHOWN, SETUID, SETGID, SETGROUPS = 2, 3, 39, 41, 62, 90, 92, 105, 106, 116
MKNOD, SETPRIORITY, PRCTL, CHROOT, MOUNT, REBOOT, SETHOSTNAME, IOPL, INIT_MODULE, BPF = (
    133, 141, 157, 161, 165, 169, 170, 172, 175, 321)

BPF_PROG_LOAD, PROG_SOCKET_FILTER, PROG_KPROBE, PROG_XDP = 5, 1, 2, 6
# r0 = 0; exit
RETURN_0 = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)


class Memory:
    """Bytes that will lie at an address."""

    def __init__(self, address):
        self.address = address
        self.bytes = b""

    def put(self, data):
        at = self.address + len(self.bytes)
        self.bytes += data + b"\0" * (8 - len(data) % 8)
        return at

    def text(self, text):
        return self.put(os.fsencode(text) + b"\0")


def program(memory, kind, instructions):
    license_at = memory.text("Apache-2.0")
    code_at = memory.put(instructions)
    attributes = struct.pack("<IIQQIIQII", kind, len(instructions) // 8, code_at, license_at, 0, 0, 0, 0, 0)
    return BPF_PROG_LOAD, memory.put(attributes + bytes(72)), 48


def attempts(memory, folder, other):
    """By name: the number of a system call, and what it is given. `folder`: everybody's; `other`: a process of root's."""
    shadow = memory.text("/etc/shadow")
    root_s = memory.text("/etc/passwd")
    environment = memory.text(f"/proc/{other}/environ")
    others_memory = memory.text(f"/proc/{other}/mem")
    return {
        "write what only root may": (OPEN, shadow, os.O_WRONLY | os.O_CLOEXEC),
        "read what only root may": (OPEN, shadow, os.O_RDONLY | os.O_CLOEXEC),
        "read the environment of another's process": (OPEN, environment, os.O_RDONLY | os.O_CLOEXEC),
        "write the memory of another's process": (OPEN, others_memory, os.O_RDWR | os.O_CLOEXEC),
        "signal another's process": (KILL, other, 0),
        "change an owner": (CHOWN, root_s, 0, 0),
        "change a mode": (CHMOD, root_s, stat.S_IMODE(os.stat("/etc/passwd").st_mode)),
        "make a device": (MKNOD, memory.text(f"{folder}/device-{memory.address:x}"), stat.S_IFCHR | 0o600, 0x103),
        "become root": (SETUID, 0),
        "join root's group": (SETGID, 0),
        "join groups": (SETGROUPS, (1 << 31) - 1, 0),
        "go ahead of others": (SETPRIORITY, 0, 0, (1 << 64) - 20),
        "change the root": (CHROOT, memory.text("/")),
        "mount": (MOUNT, shadow, memory.text(folder), memory.text("no-such-file-system"), 0, 0),
        "restart": (REBOOT, 1, 2, 3, 0),
        "name the host": (SETHOSTNAME, shadow, (1 << 64) - 1),
        "reach ports": (IOPL, 3),
        "load a module": (INIT_MODULE, 0, 0, 0),
        "see packets": (SOCKET, socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0),
        "send raw": (SOCKET, socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.IPPROTO_ICMP),
        "load a program that traces": (BPF, *program(memory, PROG_KPROBE, RETURN_0)),
        "load a program for packets": (BPF, *program(memory, PROG_XDP, RETURN_0)),
        "be safe from setuid programs": (PRCTL, 39, 0, 0, 0, 0),
    }


OPENING = (OPEN, SOCKET, BPF)


def outcomes(memory, folder, other, call, write):
    """`write` puts the memory in its place, `call` makes a system call there. By name, what came of it: a name of an error,
    "done", or, of what is asked, the answer."""
    wanted = attempts(memory, folder, other)
    write(memory)
    found = {}
    for name, (number, *words) in wanted.items():
        result = call(number, *words)
        found[name] = errno.errorcode.get(-result, str(result)) if result < 0 else "done"
        if number == PRCTL:
            found[name] = str(result)
        if result >= 0 and number in OPENING:
            call(CLOSE, result)
    return found


def try_here(folder, other):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(1 << 14)

    def call(number, *words):
        result = libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(word) for word in words))
        return -ctypes.get_errno() if result == -1 else result

    return outcomes(Memory(ctypes.addressof(buffer)), folder, other, call,
                    lambda memory: ctypes.memmove(buffer, memory.bytes, len(memory.bytes)))


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
        "ds es fs gs").split()]


class Thread:
    """A thread of another process, stopped for as long as this is used."""
    POKEDATA, CONT, SINGLESTEP, GETREGS, SETREGS, DETACH, SEIZE, INTERRUPT = 5, 7, 9, 12, 13, 17, 0x4206, 0x4207
    # Below what the function that it is in may use without saying it.
    BELOW_STACK = 1 << 14
    SYSCALL = b"\x0f\x05"

    def __init__(self, pid):
        self.pid = pid
        self.libc = ctypes.CDLL(None, use_errno=True)

    def request(self, number, address=0, data=0):
        if self.libc.ptrace(ctypes.c_long(number), ctypes.c_long(self.pid), ctypes.c_void_p(address),
                            data if isinstance(data, ctypes._Pointer) else ctypes.c_void_p(data)) == -1:
            raise OSError(ctypes.get_errno(), f"ptrace request {number}")

    def wait(self):
        _, status = os.waitpid(self.pid, 0x40000000)  # __WALL
        if not os.WIFSTOPPED(status):
            raise RuntimeError("it ended")
        return os.WSTOPSIG(status)

    def __enter__(self):
        self.request(self.SEIZE)
        self.before = Registers()
        for _ in range(1000):
            self.request(self.INTERRUPT)
            self.wait()
            self.request(self.GETREGS, 0, ctypes.pointer(self.before))
            with open(f"/proc/{self.pid}/mem", "rb") as memory:
                memory.seek(self.before.rip - 2)
                if memory.read(2) == self.SYSCALL:
                    return self
            self.request(self.CONT)
            time.sleep(0.01)
        raise RuntimeError("it is never in a system call")

    def __exit__(self, *_):
        self.request(self.SETREGS, 0, ctypes.pointer(self.before))
        self.request(self.DETACH)

    def call(self, number, *words):
        registers = Registers.from_buffer_copy(self.before)
        registers.rip = self.before.rip - 2
        registers.rax = number
        registers.orig_rax = (1 << 64) - 1
        for name, word in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), words):
            setattr(registers, name, word)
        self.request(self.SETREGS, 0, ctypes.pointer(registers))
        self.request(self.SINGLESTEP)
        stopped_by = self.wait()
        if stopped_by != signal.SIGTRAP:
            raise RuntimeError(f"it was stopped by signal {stopped_by}")
        self.request(self.GETREGS, 0, ctypes.pointer(registers))
        return ctypes.c_long(registers.rax).value

    def write(self, memory):
        for at in range(0, len(memory.bytes), 8):
            self.request(self.POKEDATA, memory.address + at, int.from_bytes(memory.bytes[at:at + 8], "little"))

    def outcomes(self, folder, other):
        address = (self.before.rsp - self.BELOW_STACK) & ~0xfff
        return outcomes(Memory(address), folder, other, self.call, self.write)


if __name__ == "__main__":
    print(json.dumps(try_here(sys.argv[1], int(sys.argv[2]))))
