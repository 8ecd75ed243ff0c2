# SPDX-License-Identifier: Apache-2.0
"""Files that a run used: tracerd files and lineage."""

import json
import os

import support


class Lineage(support.TestCase):
    """Two tasks: the second reads what the first wrote."""

    SCRIPT = """
        set -e
        seq 20000 > input.txt
        "$TRACERD" task --step make --sample S1 -- sh -c 'sort -r input.txt > sorted.tmp; mv sorted.tmp sorted.txt'
        "$TRACERD" task --step use --sample S1 -- sh -c 'md5sum sorted.txt > sum.txt; cat input.txt > /dev/null'
        rm sum.txt
    """

    def traced(self):
        recording = self.path("r.tracer")
        run = self.tracerd("run", "--record", recording, "--", "sh", "-c", self.SCRIPT, cwd=self.folder,
                           env={**os.environ, "TRACERD": support.TRACERD})
        self.assertEqual(run.returncode, 0, run.stderr)
        if "without files" in run.stderr:
            self.skipTest("no family files on this kernel")
        return recording

    def shows_deletes(self):
        families = json.loads(self.tracerd("check", "--json").stdout)["families"]
        return any("vfs_unlink" in family["mechanism"] for family in families if family["name"] == "files")

    def lineage(self, recording):
        read = self.tracerd("lineage", "--json", recording)
        self.assertEqual((read.returncode, read.stderr), (0, ""))
        return json.loads(read.stdout)

    def test_a_task_reads_what_another_wrote(self):
        recording = self.traced()
        lineage = self.lineage(recording)
        folder = os.path.realpath(self.folder)
        files = {os.path.relpath(one["path"], folder): one for one in lineage["files"]}
        size = sum(len(str(i)) + 1 for i in range(1, 20001))
        between = files["sorted.txt"]
        self.assertEqual((between["role"], between["written_bytes"], between["read_bytes"], between["size_bytes"]),
                         ("intermediate", size, size, size))
        self.assertEqual(between["other_paths"], [os.path.join(folder, "sorted.tmp")])
        self.assertEqual(files["input.txt"]["role"], "intermediate")
        self.assertEqual((files["input.txt"]["read_by_tasks"], files["input.txt"]["read_bytes"]), (2, 2 * size))
        self.assertEqual(files["sum.txt"]["role"], "output")
        if self.shows_deletes():
            self.assertTrue(files["sum.txt"]["deleted"])
            self.assertFalse(between["deleted"])
        else:
            self.assertFalse([one for one in lineage["files"] if "deleted" in one])
        names = {task.get("task_key"): task["name"] for task in lineage["tasks"]}
        edges = {(names[edge.get("task_key")], os.path.relpath(edge["path"], folder), edge["mode"])
                 for edge in lineage["edges"]}
        if self.shows_deletes():
            self.assertIn(("make (S1)", "sorted.txt", "rename"), edges)
            self.assertEqual([mode for name, path, mode in edges if path == "sum.txt" and name != "use (S1)"], ["delete"])
        for edge in (("make (S1)", "input.txt", "read"), ("make (S1)", "sorted.txt", "write"),
                     ("use (S1)", "sorted.txt", "read"), ("use (S1)", "input.txt", "read"), ("use (S1)", "sum.txt", "write")):
            self.assertIn(edge, edges)
        self.assertFalse([one for one in files if one.startswith("..")], "noise, or the tracer's own files")

    def test_text_and_graph(self):
        recording = self.traced()
        text = self.tracerd("lineage", recording)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertRegex(text.stdout, r"use \(S1\)\n(.*\n)*  reads +sorted\.txt +\S+ KiB +from make \(S1\)")
        self.assertRegex(text.stdout, r"make \(S1\)\n(.*\n)*  writes +sorted\.txt +\S+ KiB +to use \(S1\)")
        dot = self.tracerd("lineage", "--dot", recording)
        self.assertEqual((dot.returncode, dot.stderr), (0, ""))
        self.assertRegex(dot.stdout, r'(?s)^digraph lineage \{.*label="make \(S1\)".*\{t\d+\} -> f\d+ -> \{t\d+\};.*\}\n$')
        files = self.tracerd("files", recording)
        self.assertEqual((files.returncode, files.stderr), (0, ""))
        self.assertRegex(files.stdout, r"intermediate +make \(S1\) +use \(S1\) +sorted\.txt")
        unseen = "not seen: renames and deletes, for which the kernel must let functions be traced"
        if self.shows_deletes():
            self.assertRegex(files.stdout, r"output, deleted +use \(S1\) +sum\.txt")
            self.assertNotIn(unseen, files.stdout)
        else:
            self.assertIn(unseen, files.stdout)

    def test_a_plain_script_is_a_graph_of_its_tools(self):
        os.mkdir(self.path("out"))
        script = self.write("pipe.sh", "seq 20000 > in.txt\nsort -r in.txt > out/S1.txt\nsort in.txt > out/S2.txt\n"
                                       "md5sum out/S1.txt out/S2.txt > sums.txt\n")
        recording = self.path("r.tracer")
        run = self.tracerd("run", "--record", recording, "--", "bash", script, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        if "without files" in run.stderr:
            self.skipTest("no family files on this kernel")
        lineage = self.lineage(recording)
        folder = os.path.realpath(self.folder)
        edges = {(lineage["tasks"][edge["task"]]["tool"], os.path.relpath(edge["path"], folder), edge["mode"])
                 for edge in lineage["edges"] if edge["mode"] in ("read", "write")}
        self.assertEqual(edges - {("pipe.sh", "pipe.sh", "read")},
                         {("seq", "in.txt", "write"), ("sort", "in.txt", "read"), ("sort", "out/S1.txt", "write"),
                          ("sort", "out/S2.txt", "write"), ("md5sum", "out/S1.txt", "read"),
                          ("md5sum", "out/S2.txt", "read"), ("md5sum", "sums.txt", "write")})
        text = self.tracerd("lineage", recording).stdout
        self.assertIn(f"paths are relative to {folder}\n", text)
        self.assertRegex(text, r"md5sum\n  reads +out/S1\.txt +\S+ KiB +from sort\n")
        dot = self.tracerd("lineage", "--dot", recording).stdout
        self.assertRegex(dot, r'(f\d+) \[label="out/S\*\.txt\\n2 files, \S+ KiB"\];\n  \{t\d+\} -> \1 -> \{t\d+\};\n')
        self.assertLess(dot.count("\n"), 20)

    def test_environments_and_what_engines_keep_are_left_out(self):
        names = ("env/bin/tool", "env/lib/python3.12/site-packages/a-1.dist-info/METADATA", ".pyenv/version", "a/b.jar",
                 "work/conda/env-1/share/x.txt", ".snakemake/metadata/cmVwb3J0", ".nextflow/cache/1/db/LOCK", "Snakefile",
                 "1-pulp.mps")
        for name in names + ("data.txt",):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, "x")
        recording = self.path("r.tracer")
        run = self.tracerd("run", "--record", recording, "--", "cat", *map(self.path, names + ("data.txt",)))
        self.assertEqual(run.returncode, 0, run.stderr)
        if "without files" in run.stderr:
            self.skipTest("no family files on this kernel")
        self.assertEqual([os.path.basename(one["path"]) for one in self.lineage(recording)["files"]], ["data.txt"])

    def test_noise_that_is_renamed_at_once_is_no_loss(self):
        os.mkdir(self.path(".nextflow"))
        program = "import os\nfor i in range(20):\n  a, b = f'.nextflow/{i}', f'{i}'\n  open(a, 'w').close()\n" \
                  "  os.rename(a, b)\n  open(b).close()\n"
        run = self.tracerd("run", "--", support.PYTHON, "-c", program, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("NOT complete", run.stderr)

    def test_a_recording_without_uses_says_so(self):
        recording = self.path("r.tracer")
        run = self.tracerd("run", "--families", "waits", "--record", recording, "--", "sort", "/etc/passwd")
        self.assertEqual(run.returncode, 0, run.stderr)
        for command in ("files", "lineage"):
            read = self.tracerd(command, recording)
            self.assertEqual(read.returncode, 0, read.stderr)
            self.assertIn("No uses of files", read.stdout)

    def test_wrong_words(self):
        for words, message in ((("files",), "TRC140"),
                               (("lineage", "--json", "--dot", "x"), "--json and --dot exclude each other"),
                               (("files", self.path("none")), "none")):
            read = self.tracerd(*words, env=os.environ | {"TRACER_SOCKET": self.path("no.sock")})
            self.assertNotEqual(read.returncode, 0)
            self.assertIn(message, read.stderr)
