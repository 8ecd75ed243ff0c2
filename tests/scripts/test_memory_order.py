# SPDX-License-Identifier: Apache-2.0
"""Emulators on x86 keep x86's order, so what keeps order on arm64 is looked for in the programs themselves."""
import re
import subprocess
import unittest

import support

FETCHES = 0x01  # BPF_FETCH: LDADDAL and its like; without it arm64 orders nothing.
ATOMIC = re.compile(r"^\s+\d+:\s+(?:c3|db) [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} ([0-9a-f]{2}) ")
FUNCTION = re.compile(r"^[0-9a-f]+ <(\w+)>:")


class Order(support.TestCase):
    def atomics(self, program, cpu):
        """By function: of each atomic operation whether it fetches."""
        made = self.folder / f"{program}.{cpu}.o"
        subprocess.run(["clang", "-target", "bpf", f"-D__TARGET_ARCH_{cpu}", "-O2", "-g", "-mcpu=v3", "-Wno-unknown-attributes",
                        "-c", support.ROOT / f"bpf/{program}.bpf.c", "-o", made], check=True)
        text = subprocess.run(["llvm-objdump", "-d", "--mcpu=v3", made], check=True, capture_output=True, text=True).stdout
        found, function = {}, None
        for line in text.splitlines():
            if (named := FUNCTION.match(line)) and not named[1].startswith("LBB"):
                function = found.setdefault(named[1], [])
            elif operation := ATOMIC.match(line):
                function.append(bool(int(operation[1], 16) & FETCHES))
        return found

    def test_arm64_keeps_the_order_of_what_several_cpus_write_and_read(self):
        waits, lifecycle = self.atomics("waits", "arm64"), self.atomics("lifecycle", "arm64")
        for functions, name, least, why in (
                (waits, "leave_cpu", 2, "the begin and the end of a change of a thread's ledger"),
                (waits, "waits_switch", 4, "of a change of a process's; a departure; an arrival"),
                (waits, "correct_count", 2, "a departure, an arrival"),
                (lifecycle, "begin_ledger", 1, "a thread that is found when its ledger is whole"),
                (lifecycle, "living_tasks", 13, "four copies of a thread's; a process's ledger that is marked when it is whole"),
                (lifecycle, "process_exec", 8, "copies of the ledger of the thread that executes; the clocks"),
                (lifecycle, "process_waits_until", 6, "three copies of a process's"),
                (lifecycle, "split_ledger", 1, "a process's ledger that is marked when it is whole"),
                (lifecycle, "process_fork", 1, "a process that is known by iterators when it is whole"),
                (lifecycle, "adopt", 3, "a process that is known by its dying threads when it is whole"),
                (lifecycle, "thread_dead", 3, "the last of its threads finds what all others have added")):
            with self.subTest(name):
                self.assertGreaterEqual(sum(functions[name]), least, why)

    def test_kernels_whose_additions_fetch_nothing_get_none_that_does(self):
        self.assertEqual({name for name, atomics in self.atomics("waits", "x86").items() if any(atomics)}, {"waits_switch"})
        self.assertEqual({name for name, atomics in self.atomics("lifecycle", "x86").items() if any(atomics)}, set())


if __name__ == "__main__":
    unittest.main()
