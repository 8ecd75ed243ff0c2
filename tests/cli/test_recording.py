# SPDX-License-Identifier: Apache-2.0
"""tracerd dump of good, damaged and foreign files, and recordings on a full disk."""

import os
import random
import shutil
import struct
import subprocess
import zlib

import support
from support import PYTHON, TRACERD, of_kind, parse_lines, text_of

MAGIC = b"TRACER\x1a\n"
FRAME = b"TRF2"
FRAME_HEADER_BYTES = 32

# Starts as many processes as it is told, each with 3000 random characters, and exits with 17.
MANY = r"""
import os, random, sys
for i in range(int(sys.argv[1])):
    text = ''.join(random.choices('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,;', k=3000))
    os.waitpid(os.posix_spawn('/bin/true', ['/bin/true', str(i), text], {}), 0)
sys.exit(17)
"""


def frame_of(payload):
    """A frame as in docs/recording-format.md; the payload is stored in one raw zstd block."""
    stored = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(payload)) + struct.pack("<I", 1 | len(payload) << 3)[:3] + payload
    stream_and_sequence = struct.pack("<QQ", 1, 0)
    sizes = struct.pack("<II", len(stored), len(payload))
    checksum = struct.pack("<I", zlib.crc32(sizes + stream_and_sequence + stored))
    return FRAME + sizes + checksum + stream_and_sequence + stored


class Dump(support.TestCase):
    def test_a_file_that_does_not_exist(self):
        self.assert_fails(self.tracerd("dump", "/no/such/file"), 1, "TRC110")

    def test_a_folder(self):
        self.assert_fails(self.tracerd("dump", self.folder), 1, "TRC111")

    def test_a_text_file_and_an_empty_one(self):
        for text in ("just text, long enough for a magic number\n", "x", ""):
            with self.subTest(text=text):
                with open(self.path("text"), "w", encoding="ascii") as file:
                    file.write(text)
                self.assert_fails(self.tracerd("dump", self.path("text")), 1, "TRC111")

    def test_a_recording_of_a_newer_schema(self):
        with open(self.path("newer"), "wb") as file:
            file.write(MAGIC + frame_of(b"\x81\xa6schema\x63"))
        self.assert_fails(self.tracerd("dump", self.path("newer")), 1, "TRC112")

    def test_a_recording_without_a_whole_header(self):
        with open(self.path("cut"), "wb") as file:
            file.write(MAGIC + frame_of(b"\x81\xa6schema\x01")[:-3])
        cut = self.tracerd("dump", self.path("cut"))
        self.assert_fails(cut, 1, "TRC113")
        self.assertIn("fix: the file is damaged; an older recording may be beside it, as FILE.1", cut.stderr)

    def test_an_output_that_can_not_be_written(self):
        self.tracerd("run", "--record", self.path("r"), "--", "true")
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([TRACERD, "dump", self.path("r")], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=support.DEADLINE_SECONDS, check=False)
        self.assert_fails(result, 1, "TRC114")


class Damage(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = support.tempfile.mkdtemp(prefix="tracerd-cli-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)
        path = os.path.join(cls.shared, "whole")
        status = subprocess.run([TRACERD, "run", "--record", path, "--", PYTHON, "-c", MANY, "150"],
                                stderr=subprocess.DEVNULL, timeout=support.DEADLINE_SECONDS, check=False).returncode
        assert status == 17, status
        with open(path, "rb") as file:
            cls.whole = file.read()
        dump = subprocess.run([TRACERD, "dump", path], stdout=subprocess.PIPE, text=True, errors="replace", check=True)
        cls.lines = dump.stdout.splitlines()

    def dump_of(self, data):
        path = self.path("damaged")
        with open(path, "wb") as file:
            file.write(data)
        result = self.tracerd("dump", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def frames(self):
        starts, at = [], len(MAGIC)
        while at < len(self.whole):
            self.assertEqual(self.whole[at:at + 4], FRAME)
            starts.append(at)
            at += FRAME_HEADER_BYTES + struct.unpack_from("<I", self.whole, at + 4)[0]
        return starts

    def test_a_whole_recording_is_dumped_without_a_note(self):
        result = self.dump_of(self.whole)
        self.assertEqual(result.stderr, "")
        self.assertEqual(len(of_kind(parse_lines(result.stdout), "process_exit")), 151)

    def test_of_a_cut_recording_all_before_the_cut_is_dumped(self):
        starts = self.frames()
        self.assertGreaterEqual(len(starts), 3)
        random.seed(1)
        header_end = starts[1]
        for length in {header_end, starts[2] - 1, starts[2], starts[2] + 7, len(self.whole) - 1,
                       *(random.randrange(header_end, len(self.whole)) for _ in range(6))}:
            with self.subTest(length=length):
                result = self.dump_of(self.whole[:length])
                lines = result.stdout.splitlines()
                self.assertEqual(lines, self.lines[:len(lines)])
                self.assertGreaterEqual(len(lines), 1 if length < starts[2] else 2)
                self.assertIn("the recording has no end", result.stderr)

    def test_of_a_damaged_recording_all_but_the_damaged_frame_is_dumped(self):
        starts = self.frames()
        for place, what in ((0, "magic"), (5, "length"), (9, "size"), (13, "checksum"), (17, "stream"), (25, "sequence"),
                            (FRAME_HEADER_BYTES + 40, "content")):
            with self.subTest(damaged=what):
                data = bytearray(self.whole)
                data[starts[1] + place] ^= 0x55
                result = self.dump_of(bytes(data))
                lines = result.stdout.splitlines()
                self.assertEqual(lines[0], self.lines[0])
                self.assertEqual(lines[-1], self.lines[-1])
                self.assertEqual(lines[1:], self.lines[len(self.lines) - len(lines) + 1:])
                self.assertIn("bytes are damaged", result.stderr)

    def test_random_damage_never_ends_dump(self):
        header_end = self.frames()[1]
        random.seed(2)
        for _ in range(10):
            data = bytearray(self.whole)
            for _ in range(20):
                data[random.randrange(header_end, len(data))] = random.randrange(256)
            lines = set(self.dump_of(bytes(data)).stdout.splitlines())
            self.assertLessEqual(lines, set(self.lines), "what is dumped was recorded")


class FullDisk(support.TestCase):
    def run_on_small_disk(self, option):
        disk = self.path("disk")
        os.mkdir(disk)
        script = f"""mount -t tmpfs -o size=1m none {disk} || exit 99
"$TRACERD" run {option} {disk}/out -- "$@"
status=$?
cp {disk}/out {self.path('copy')}
exit $status
"""
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", PYTHON, "-c", MANY, "900"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", env=dict(os.environ, TRACERD=TRACERD),
                              timeout=2 * support.DEADLINE_SECONDS, check=False)

    def check_result(self, result):
        if result.returncode == 99:
            self.skipTest("no tmpfs can be mounted here: " + result.stderr)
        self.assertEqual(result.returncode, 17, result.stderr)
        self.assertIn("TRC114", result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertEqual(result.stderr.count("TRC114"), 1)
        self.assertIn("complete: 901 of 901", result.stderr)

    def test_the_recording_stops_and_the_command_does_not(self):
        self.check_result(self.run_on_small_disk("--record"))
        result = self.tracerd("dump", self.path("copy"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(len(of_kind(parse_lines(result.stdout), "process_exit")), 100)
        self.assertIn("the recording has no end", result.stderr)

    def test_json_stops_and_the_command_does_not(self):
        self.check_result(self.run_on_small_disk("--json"))
        self.assertGreater(len(of_kind(parse_lines(text_of(self.path("copy"))), "process_exit")), 50)


if __name__ == "__main__":
    support.main()
