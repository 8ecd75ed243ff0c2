# SPDX-License-Identifier: Apache-2.0
"""What a run exchanged with another machine: a network namespace of its own, behind a pair of virtual devices."""

import json
import os
import unittest

import another_machine
import support

SERVER = """
import socket
listener = socket.create_server(("10.231.7.2", 0))
print(listener.getsockname()[1], flush=True)
for _ in range(2):
    peer, _ = listener.accept()
    received = 0
    while data := peer.recv(65536):
        received += len(data)
    peer.close()
"""
CLIENT = """
import socket, sys
peer = socket.create_connection(("10.231.7.2", int(sys.argv[1])))
for _ in range(300):
    peer.sendall(b"x" * 10_000)
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
try:
    socket.create_connection(("10.231.7.2", 1))
except ConnectionRefusedError:
    pass
"""
SENT_BYTES = 3_000_000


class Network(another_machine.AnotherMachine):
    network = "10.231.7"
    device = "trv"
    server = SERVER

    def test_bytes_and_peers_of_tools_and_tasks(self):
        events, report = self.path("events.json"), self.path("r.json")
        client = self.path("fetch.py")
        with open(client, "w", encoding="utf-8") as file:
            file.write(CLIENT)
        run = self.tracerd("run", "--json", events, "--report", report, "--", "sh", "-c",
                           f'"$TRACERD" task --step fetch -- python3 {client} {self.port}; true',
                           env={**os.environ, "TRACERD": support.TRACERD})
        self.assertEqual(run.returncode, 0, run.stderr)
        if "without network" in run.stderr:
            self.skipTest("no family network on this kernel")
        self.assertRegex(run.stderr, rf"network: .*fetch.py with 10\.231\.7\.2:{self.port}: 0 B received, 2.9 MiB sent")
        with open(report, encoding="utf-8") as file:
            made = json.load(file)
        peers = {(one["address"], one["port"]): one for one in made["peers"]}
        peer = peers["10.231.7.2", int(self.port)]
        self.assertEqual((peer["protocol"], peer["role"], peer["sent_bytes"], peer["received_bytes"], peer["failed_connects"]),
                         ("tcp", "client", SENT_BYTES, 0, 0))
        refused = peers["10.231.7.2", 1]
        self.assertEqual((refused["sent_bytes"], refused["failed_connects"], refused["error"]), (0, 1, 111))
        (task,) = made["tasks"]
        self.assertEqual((task["network_sent_bytes"], task["network_received_bytes"]), (SENT_BYTES, 0))
        self.assertEqual(made["totals"]["network_sent_bytes"], SENT_BYTES)
        with open(events, encoding="utf-8") as file:
            finishes = [event for event in map(json.loads, file) if event["kind"] == "task_finish"]
        self.assertEqual([event["network_sent_bytes"] for event in finishes], [SENT_BYTES])


if __name__ == "__main__":
    unittest.main()
