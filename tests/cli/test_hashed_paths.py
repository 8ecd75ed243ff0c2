# SPDX-License-Identifier: Apache-2.0
"""Hashes in place of paths and addresses: a patient's number and an address are in no output."""

import glob
import json
import os
import re
import socket
import threading

import support
from support import TRACERD, of_kind, text_of

PATIENT = "patient-1234"
ADDRESS = "127.0.0.1"
HASH = "[0-9a-f]{12}"
SEND = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).sendall(b'x' * 1000)"
# The second task reads what the first wrote.
SCRIPT = f"""
    set -e
    cd {PATIENT}
    "$TRACERD" task --step make -- sh -c 'seq 200000 > {PATIENT}.bam'
    "$TRACERD" task --step use -- sh -c 'md5sum {PATIENT}.bam "$PWD/{PATIENT}.bam" > {PATIENT}.txt'
    "$TRACERD" task --step send -- "$PYTHON" -c "$SEND" "$PORT"
    "$TRACERD" task --step fails -- sh -c 'cat {PATIENT}.none 2> /dev/null; exit 3' || true
"""


class HashedPaths(support.TestCase):
    def listen(self):
        """The port of a server that takes one connection."""
        server = socket.create_server((ADDRESS, 0))
        self.addCleanup(server.close)

        def take():
            with server.accept()[0] as peer:
                while peer.recv(65536):
                    pass

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        return server.getsockname()[1]

    def traced(self, *options, environment=None):
        """Runs the script; the port that was connected to, and what was printed."""
        folder = self.path(PATIENT)
        os.makedirs(folder, exist_ok=True)
        port = self.listen()
        run = self.tracerd("run", *options, "--", "sh", "-c", SCRIPT, cwd=self.folder,
                           env={**os.environ, "TRACERD": TRACERD, "PYTHON": support.PYTHON, "SEND": SEND, "PORT": str(port),
                                **(environment or {})})
        self.assertEqual(run.returncode, 0, run.stderr)
        return port, run.stderr

    def assert_hidden(self, text, where):
        for name in (PATIENT, PATIENT.encode().hex(), ADDRESS, self.folder, os.path.basename(self.folder)):
            at = text.find(name)
            self.assertEqual(at, -1, f"{where}: {text[max(0, at - 200):at + 200]!r}")

    def outputs(self):
        recording, events, report, trace = (self.path(name) for name in ("r.tracer", "e.json", "r.json", "t.tsv"))
        port, printed = self.traced("--hash-paths", "--record", recording, "--json", events, "--report", report, "--trace",
                                    trace)
        texts = {"printed": printed.replace(recording, ""), "events": text_of(events), "report": text_of(report),
                 "trace": text_of(trace)}
        for words in (("dump",), ("log",), ("files",), ("files", "--json"), ("lineage",), ("lineage", "--json"), ("lineage", "--dot"),
                      ("report", "--by", "process"), ("report", "--json"), ("report", "--html"), ("why",), ("why", "--json")):
            read = self.tracerd(*words, recording)
            self.assertIn(read.returncode, (0, 1), read.stderr)
            texts[" ".join(words)] = (read.stdout + read.stderr).replace(recording, "")
        return port, texts

    def test_no_output_has_a_name_or_an_address_and_files_still_join_tasks(self):
        port, texts = self.outputs()
        for where, text in texts.items():
            self.assertTrue(text, where)
            self.assert_hidden(text, where)
        events = support.parse_lines(texts["events"])
        execs = of_kind(events, "process_exec")
        self.assertIn("md5sum", [event["tool"] for event in execs])
        for event in execs:
            self.assertRegex(event["cwd"], f"^(/{HASH})+$")
            self.assertRegex(event["exe"], f"^(/{HASH})+/[^/]+$")
            self.assertEqual(set(event["argv"][1:]) - {"***", "-c"}, set(), event["argv"])
        if "without files" not in texts["printed"]:
            lineage = json.loads(texts["lineage --json"])
            (between,) = [one for one in lineage["files"] if one["role"] == "intermediate"]
            self.assertRegex(between["path"], rf"^(/{HASH})+\.bam$")
            # The folder has the same name as the file, and both tasks worked in it.
            self.assertEqual(*re.findall(HASH, between["path"])[-2:])
            names = {task.get("task_key"): task["name"] for task in lineage["tasks"]}
            edges = {(names[edge.get("task_key")], edge["mode"]) for edge in lineage["edges"]
                     if edge["path"] == between["path"]}
            self.assertEqual(edges, {("make", "write"), ("use", "read")})
        if "without network" not in texts["printed"]:
            (peer,) = [event for event in of_kind(events, "connection") if event["role"] == "client"]
            self.assertRegex(peer["remote_address"], f"^{HASH}$")
            self.assertRegex(peer["local_address"], f"^{HASH}$")
            self.assertEqual((peer["remote_port"], peer["same_host"], peer["sent_bytes"]), (port, True, 1000))
        # Without the option they are there: the script has them.
        recording = self.path("clear.tracer")
        _, printed = self.traced("--record", recording)
        clear = json.dumps(self.dump(recording))
        self.assertIn(PATIENT, clear)
        if "without network" not in printed:
            self.assertIn(ADDRESS, clear)

    def test_two_sessions_have_no_hash_in_common(self):
        found = []
        for number in range(2):
            events = self.path(f"e{number}.json")
            self.traced("--hash-paths", "--json", events)
            found.append({event["cwd"] for event in of_kind(support.parse_lines(text_of(events)), "process_exec")})
        self.assertTrue(found[0])
        self.assertEqual(found[0] & found[1], set())

    def test_a_service_hashes_for_all_clients_and_its_recordings(self):
        place = self.path("service.sock")
        recordings = self.path("recordings")
        os.mkdir(recordings)
        config = self.write("tracerd.toml", f'schema = 1\n[session]\nhash_paths = true\n[recordings]\nfolder = "{recordings}"\n')
        service = self.start(TRACERD, "serve", "--config", config, "--socket", place, stderr=-3)
        support.wait_until(lambda: self.tracerd("status", "--socket", place).returncode == 0, "the service answers")
        events = self.path("e.json")
        self.traced("--json", events, environment={"TRACER_SOURCE": "service", "TRACER_SOCKET": place})
        seen = support.parse_lines(text_of(events))
        self.assertIn("make", [event["context"]["step"] for event in of_kind(seen, "task_finish")])
        self.assert_hidden(text_of(events), "a client")
        service.send_signal(2)
        service.wait(support.DEADLINE_SECONDS)
        (recording,) = glob.glob(recordings + "/*")
        # What else ran on the host is in it, such as this test.
        own = [event for event in self.dump(recording)[1:] if event["kind"] != "session_end"]
        self.assert_hidden(json.dumps(own), "the recording")
        self.assertIn("md5sum", [event["tool"] for event in of_kind(own, "process_exec")])


if __name__ == "__main__":
    support.main()
