# SPDX-License-Identifier: Apache-2.0
"""tracerd status, and what it makes of any service: of one without mistakes, and of others."""

import json
import os
import socket
import subprocess
import threading

import support
from support import TRACERD

GOOD = {"tracer_version": "0.1.0", "session_id": "a", "pid": 12, "uptime_s": 7,
        "families": [{"family": "waits", "active": True},
                     {"family": "gpu", "active": False, "problem": {"code": "TRC119", "message": "no driver is here"}}],
        "events": 5, "cost": {"cpu_ns": 1500000000, "memory_bytes": 1 << 20},
        "losses": {"ring_full_process_exit": 42, "service_queue_full": 1},
        "users": [{"uid": 1000, "connections": 2, "subscriptions": 1, "labels": 0, "bytes": 9, "announcements": 3,
                   "dropped_events": 8, "refused": 4}],
        "connections": 3, "refused_connections": 2,
        "more": {"recordings": {"file": "/var/x/host.tracer", "file_bytes": 1, "files": 8, "files_there": 2,
                                "used_bytes": 3 << 20, "free_bytes": 5 << 30, "removed": 1, "failures": 6,
                                "dropped_events": 77,
                                "problem": "TRC114: it can't be made: No space left on device\n  look at the disk"}}}


class Status(support.TestCase):
    def setUp(self):
        super().setUp()
        self.socket = self.path("t.sock")

    def answering(self, reply):
        """A service that gives this reply to everybody: bytes, or None: none at all."""
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.socket)
        listening.listen(16)
        held = []

        def serve():
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                held.append(client)
                if reply is not None:
                    client.recv(4096)
                    client.sendall(reply)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()

        def end():
            if listening.fileno() < 0:
                return
            listening.shutdown(socket.SHUT_RDWR)
            listening.close()
            thread.join(support.DEADLINE_SECONDS)
            for client in held:
                client.close()
            os.unlink(self.socket)
        self.end = end
        self.addCleanup(end)

    def status_of(self, status):
        self.answering(json.dumps({"ok": True, "status": status}).encode() + b"\n")
        result = self.tracerd("status", "--socket", self.socket)
        self.end()
        return result

    def test_it_shows_what_is_lost_and_what_goes_wrong(self):
        result = self.status_of(GOOD)
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("process 12, running for 7 s; 3 connections, 2 refused\n",
                     "traces: waits gpu (off)\noff:    gpu: no driver is here\n",
                     "cost:   1.5 s of CPU time, 1.0 MiB of memory; 5 events\n",
                     "user 1000: 2 connections, 1 subscription, 3 announcements, 0 labels, 9 B; 8 events dropped",
                     "lost:   42 ring_full_process_exit, 1 service_queue_full\n", "8 events dropped; refused 4 times\n",
                     "records to /var/x/host.tracer: 3.0 MiB in 2 files; 5.0 GiB free on its disk; 77 events are missing",
                     "failed 6 times\n",
                     "it does not record now: TRC114: it can't be made: No space left on device\n  look at the disk\n"):
            self.assertIn(text, result.stdout)
        result = self.status_of({})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("lost:   nothing", result.stdout)
        self.assertNotIn("memory", result.stdout)

    def test_what_is_no_status_is_an_error_with_a_code(self):
        for status in ([], 1, None, GOOD | {"pid": "x"}, GOOD | {"families": 1}, GOOD | {"families": [1]},
                       GOOD | {"families": [{"family": "gpu", "problem": {"message": 1}}]},
                       GOOD | {"cost": []}, GOOD | {"users": [[]]}, GOOD | {"more": 1}, GOOD | {"losses": 7},
                       GOOD | {"more": {"recordings": {"file": 1}}}):
            with self.subTest(status=status):
                self.assert_fails(self.status_of(status), 1, "TRC142")
        self.answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.assert_fails(self.tracerd("status", "--socket", self.socket), 1, "TRC142")

    def test_the_socket_of_the_environment_is_asked(self):
        self.answering(json.dumps({"ok": True, "status": GOOD}).encode() + b"\n")
        result = self.tracerd("status", env=os.environ | {"TRACER_SOCKET": self.socket})
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.tracerd("status", "--json", env=os.environ | {"TRACER_SOCKET": self.socket})
        self.assertEqual(json.loads(result.stdout), GOOD)

    def test_each_reason_has_its_own_fix(self):
        missing = self.tracerd("status", "--socket", self.socket)
        self.assert_fails(missing, 1, "TRC140")
        self.assertIn("to start it", missing.stderr)
        self.answering(None)
        silent = self.tracerd("status", "--socket", self.socket)
        self.assert_fails(silent, 1, "TRC140")
        self.assertIn("does not answer", silent.stderr)
        self.assertIn("restart it", silent.stderr)
        os.chmod(self.socket, 0o600)
        os.chmod(self.folder, 0o755)
        refused = subprocess.run([TRACERD, "status", "--socket", self.socket], capture_output=True, text=True, check=False,
                                 preexec_fn=lambda: os.setresuid(20011, 20011, 20011), timeout=support.DEADLINE_SECONDS)
        self.assert_fails(refused, 1, "TRC102")
        self.assertIn("admin.sock is root's", refused.stderr)


if __name__ == "__main__":
    support.main()
