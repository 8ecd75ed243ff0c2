# SPDX-License-Identifier: Apache-2.0
"""Who read what from whom, against what is known: files with several contents, what strace saw, and planned graphs."""

import json
import os
import random
import re
import shutil
import subprocess
import unittest

import support


class Traced(support.TestCase):
    def lineage_of(self, script):
        """Of a script whose tasks are `task NAME COMMAND…`."""
        task = f'task() {{ local name=$1; shift; {support.TRACERD} task --sample "$name" -- "$@"; }}'
        self.write("p.sh", f"set -e\n{task}\n{script}")
        self.recording = self.path("r.tracer")
        os.makedirs(self.path("work"))
        run = self.tracerd("run", "--no-history", "--record", self.recording, "--", "bash", self.path("p.sh"),
                           cwd=self.path("work"))
        self.assertEqual(run.returncode, 0, run.stderr)
        if "without files" in run.stderr:
            self.skipTest("no family files on this kernel")
        self.table = run.stderr
        read = self.tracerd("lineage", "--json", self.recording)
        self.assertEqual((read.returncode, read.stderr), (0, ""))
        return json.loads(read.stdout)

    def passes(self, lineage):
        """(from, to, file) of what was passed on between tasks: for certain, and perhaps."""
        names = [task["name"] for task in lineage["tasks"]]
        by_key = {task.get("task_key"): task["name"] for task in lineage["tasks"]}
        found = {"from": set(), "may_from": set()}
        for edge in lineage["edges"]:
            for how, pairs in found.items():
                for writer in edge.get(how, []):
                    pairs.add((names[writer], by_key[edge.get("task_key")], os.path.basename(edge["path"])))
        return found["from"], found["may_from"]


class Contents(Traced):
    def test_a_file_that_is_written_twice_in_place(self):
        lineage = self.lineage_of("""
            task A bash -c 'seq 1 100000 > f.txt; sleep 0.3'
            task B bash -c 'wc -l f.txt > b.out'
            task C bash -c 'seq 1 50000 > f.txt'
            task D bash -c 'wc -l f.txt > d.out; sleep 0.3'
        """)
        certain, maybe = self.passes(lineage)
        self.assertEqual(certain, {("A", "B", "f.txt"), ("C", "D", "f.txt")})
        self.assertFalse(maybe)
        versions = [(one["version"], one["versions"], one["role"]) for one in lineage["files"] if one["path"].endswith("/f.txt")]
        self.assertEqual(versions, [(1, 2, "intermediate"), (2, 2, "intermediate")])
        self.assertNotIn("read again", self.tracerd("files", self.recording).stdout)

    def test_a_file_that_is_sorted_into_itself(self):
        lineage = self.lineage_of("""
            task A bash -c 'seq 100000 -1 1 > g'
            task S sort -o g g
            task B bash -c 'md5sum g > sum'
        """)
        self.assertEqual(self.passes(lineage)[0], {("A", "S", "g"), ("S", "B", "g")})

    def test_a_scratch_file_of_a_loop_is_a_file_for_each_turn(self):
        lineage = self.lineage_of("""
            for i in 1 2 3 4 5; do
              task W$i bash -c "seq 1 ${i}0000 > tmp.fq"
              task R$i bash -c "cksum < tmp.fq > sum$i"
            done
        """)
        certain, maybe = self.passes(lineage)
        self.assertEqual(certain, {(f"W{i}", f"R{i}", "tmp.fq") for i in range(1, 6)})
        self.assertFalse(maybe)

    def test_two_tasks_with_a_file_system_of_their_own_share_nothing(self):
        self.write("one.sh", "mount -t tmpfs none /mnt; seq 1 $1 > /mnt/part.txt; sort /mnt/part.txt | tail -1 > /dev/null\n")
        if subprocess.run(["unshare", "-m", "true"], check=False).returncode:
            self.skipTest("no mount namespaces")
        lineage = self.lineage_of(f"""
            task S1 unshare -m bash {self.path('one.sh')} 20000
            task S2 unshare -m bash {self.path('one.sh')} 30000
        """)
        certain, maybe = self.passes(lineage)
        self.assertFalse([each for each in certain | maybe if each[2] == "part.txt"])

    def test_an_overlay_on_a_fresh_tmpfs_shares_nothing_with_the_one_before(self):
        self.write("one.sh", """
            mount -t tmpfs none /mnt && mkdir /mnt/low /mnt/up /mnt/work /mnt/all && seq 1 $1 > /mnt/low/in.txt
            mount -t overlay none -o lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/work /mnt/all || exit 77
            cat /mnt/all/in.txt > /mnt/all/out.txt; md5sum /mnt/all/out.txt > /dev/null
        """)
        if subprocess.run(["unshare", "-m", "bash", self.path("one.sh"), "5"], check=False).returncode:
            self.skipTest("no overlays here")
        lineage = self.lineage_of(f"""
            task S1 unshare -m bash {self.path('one.sh')} 20000
            task S2 unshare -m bash {self.path('one.sh')} 30000
        """)
        certain, maybe = self.passes(lineage)
        self.assertFalse([each for each in certain | maybe if each[2] in ("in.txt", "out.txt")])

    def test_files_of_an_archive_have_a_writer_or_it_is_not_known(self):
        for count in (3000, 9500):
            os.makedirs(self.path(f"src{count}"))
            for i in range(count):
                self.write(f"src{count}/f{i}.txt", f"{i}\n")
            subprocess.run(["tar", "cf", self.path(f"{count}.tar"), "-C", self.path(f"src{count}"), "."], check=True)
        lineage = self.lineage_of(f"""
            mkdir x y
            task FEW tar xf {self.path('3000.tar')} -C x
            task USE bash -c 'cat $(ls -U x | tail -500 | sed s,^,x/,) > all.txt'
            task MANY tar xf {self.path('9500.tar')} -C y
            task USE2 bash -c 'cat y/f*[05].txt > all2.txt'
        """)
        read = [one for one in lineage["files"] if re.search("/x/f[0-9]+.txt$", one["path"]) and one["read_by_tasks"]]
        self.assertEqual(len(read), 500)
        self.assertEqual({one["role"] for one in read}, {"intermediate"})
        read = [one for one in lineage["files"] if re.search("/y/f[0-9]+.txt$", one["path"]) and one["read_by_tasks"]]
        self.assertGreater(len(read), 500)
        self.assertLessEqual({one["role"] for one in read}, {"intermediate", "unknown"})

    def test_who_only_reads_a_database_has_not_written_it(self):
        if not shutil.which("sqlite3"):
            self.skipTest("no sqlite3")
        lineage = self.lineage_of("""
            task MAKE sqlite3 d.db 'create table t(a); insert into t values (1), (2);'
            sleep 0.1
            task READ bash -c 'sqlite3 d.db "select sum(a) from t;" > sum'
            sleep 0.1
            task ALSO bash -c 'sqlite3 d.db "select count(*) from t;" > count'
            task ADD sqlite3 d.db 'insert into t values (3);'
            sleep 0.1
            task LAST bash -c 'sqlite3 d.db "select max(a) from t;" > max'
        """)
        certain, maybe = self.passes(lineage)
        of_database = {each[:2] for each in certain if each[2] == "d.db"}
        perhaps = {each[:2] for each in maybe if each[2] == "d.db"}
        # Where opens are not seen, ADD may have made the database anew.
        self.assertLessEqual(perhaps, {("MAKE", "ADD"), ("MAKE", "LAST")})
        self.assertEqual(of_database | perhaps,
                         {("MAKE", "READ"), ("MAKE", "ALSO"), ("MAKE", "ADD"), ("MAKE", "LAST"), ("ADD", "LAST")})

    def test_one_that_opens_a_file_to_read_and_write_and_empties_it(self):
        self.write("anew.py", "f = open('f.dat', 'w+'); f.write('2' * 5000); f.flush(); f.seek(0); f.read()\n")
        lineage = self.lineage_of(f"""
            task V1 bash -c 'seq 1 2000 > f.dat'
            sleep 0.1
            task V2 python3 {self.path('anew.py')}
            task D bash -c 'wc -c f.dat > size'
        """)
        certain = {each[:2] for each in self.passes(lineage)[0] if each[2] == "f.dat"}
        self.assertEqual(certain, {("V2", "D")})

    def test_locks_and_empty_files_pass_nothing_on(self):
        lineage = self.lineage_of("""
            task A flock lock.1 true
            task B flock lock.1 true
            task C bash -c 'exec 9<>lock.2; flock 9'
            task D bash -c 'exec 9<>lock.2; flock 9'
        """)
        certain, maybe = self.passes(lineage)
        self.assertFalse(certain | maybe)

    def test_a_file_that_is_written_without_a_name(self):
        self.write("unnamed.py", """
import ctypes, os
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o644)
os.write(fd, b"x" * 100000)
at_cwd, follow = -100, 0x400
if ctypes.CDLL(None).linkat(at_cwd, b"/proc/self/fd/%d" % fd, at_cwd, b"out.bin", follow):
    raise SystemExit("linkat")
os.close(fd)
""")
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this file system has no O_TMPFILE")
        lineage = self.lineage_of(f"""
            task MAKE python3 {self.path('unnamed.py')}
            task USE bash -c 'wc -c out.bin > size'
        """)
        self.assertIn(("MAKE", "USE", "out.bin"), self.passes(lineage)[0])


CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += +(-?\d+)(?:<([^>]*)>)?")


def seen_by_strace(log, marker):
    """(writer, reader, file): by the order of opens. `marker`: the program whose first argument names a task."""
    contents = {}  # By path: the tasks that have written what is there.
    passed = set()
    parents, marked = {}, {}

    def task_of(pid):
        while pid and pid not in marked:
            pid = parents.get(pid)
        return marked.get(pid)

    # A child may be seen before the call that made it returns.
    calls = list(calls_of(log))
    for pid, name, words, result, _ in calls:
        if name in ("clone", "clone3", "fork", "vfork"):
            parents[result] = pid
        elif name == "execve" and f'"{marker}"' in words.split(",")[0]:
            marked[pid] = re.findall(r'"([^"]*)"', words)[2]
    folders = {}  # In which each process is: -y shows that only where a call names none.
    for pid, name, words, result, path in calls:
        here = re.search("AT_FDCWD<([^>]*)>", words)
        folders[pid] = here[1] if here else folders.get(pid, "")
        if name in ("rename", "renameat", "renameat2", "link", "linkat"):
            ends = [os.path.normpath(os.path.join(folders[pid], each)) for each in re.findall(r'"([^"]*)"', words)][-2:]
            if ends[0] in contents:
                contents[ends[1]] = contents[ends[0]] if name.startswith("link") else contents.pop(ends[0])
        elif name in ("open", "openat", "creat") and path and path.startswith("/"):
            own = task_of(pid)
            empties = "O_TRUNC" in words or name == "creat"
            if "O_WRONLY" not in words and not empties:
                for writer in contents.get(path, ()):
                    if writer and own and writer != own:
                        passed.add((writer, own, path))
            if empties or ("O_CREAT" in words and path not in contents):
                contents[path] = {own}
            elif "O_WRONLY" in words:
                contents.setdefault(path, set()).add(own)
        elif name == "ftruncate" and words.endswith(", 0"):
            contents[re.search("<([^>]*)>", words)[1]] = {task_of(pid)}
    return passed


def calls_of(log):
    """(pid, name, arguments, result, path of the result) of what succeeded, in the order of their returns."""
    unfinished = {}
    for line in log.splitlines():
        begun = re.match(r"^(\d+) +(.*) <unfinished \.\.\.>$", line)
        if begun:
            unfinished[begun[1]] = begun[2]
            continue
        resumed = re.match(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$", line)
        if resumed:
            line = f"{resumed[1]} {unfinished.pop(resumed[1], '')}{resumed[2]}"
        call = CALL.match(line)
        if call and call[4] != "-1":
            yield call.groups()


class AgainstStrace(Traced):
    """The same script, once watched and once under strace."""

    SCRIPT = """
        task INPUT bash -c 'seq 1 30000 > in.txt; seq 1 40 | sed "s/^/>s/;s/$/\\nACGTACGTAGCTAGCTAGCTAGCATCGATCAGC/" > ref.fa'
        task SORT sort -r -o sorted.txt in.txt
        task AGAIN sort -o sorted.txt sorted.txt
        task COPY cp sorted.txt copy.txt
        task MOVE bash -c 'cp copy.txt tmp.out; mv tmp.out final.out'
        task PACK tar czf all.tar.gz sorted.txt copy.txt final.out
        task UNPACK bash -c 'mkdir u; tar xzf all.tar.gz -C u'
        task USE bash -c 'cat u/sorted.txt u/final.out > joined.txt'
        task LINK ln sorted.txt link.txt
        task LINKED bash -c 'cat link.txt > linked.txt'
        task LOG1 bash -c 'echo 1 >> log.txt'
        task LOG2 bash -c 'echo 2 >> log.txt'
        task SUM bash -c 'md5sum joined.txt log.txt > sums'
        task AGAIN2 bash -c 'seq 1 5 > in.txt'
        task LAST bash -c 'cat in.txt sums > last'
        if command -v git > /dev/null; then
          task REPO bash -c 'git init -q repo; cp last sums repo; cd repo; git add .; git -c user.name=a -c user.email=b commit -qm c'
          task CLONE git clone -q --no-hardlinks repo clone
          task READ bash -c 'cat clone/last > clone.txt'
        fi
        if command -v samtools > /dev/null && command -v bwa > /dev/null; then
          task INDEX bwa index ref.fa
          task ALIGN bash -c 'bwa mem ref.fa ref.fa > out.sam 2> /dev/null'
          task BAM samtools sort -o out.bam out.sam
          task BAI samtools index out.bam
          task VIEW bash -c 'samtools view out.bam s1:1-10 > out.txt'
        fi
        if command -v rsync > /dev/null; then
          task SYNC rsync -a u/ v/
          task SYNCED bash -c 'cat v/sorted.txt > v.txt'
        fi
    """

    def test_no_edge_is_false_and_few_are_missing(self):
        if not shutil.which("strace"):
            self.skipTest("no strace")
        lineage = self.lineage_of(self.SCRIPT)
        folder = os.path.realpath(self.path("work"))
        names = [task["name"] for task in lineage["tasks"]]
        by_key = {task.get("task_key"): task["name"] for task in lineage["tasks"]}
        said = {(names[writer], by_key[edge["task_key"]], os.path.relpath(edge["path"], folder))
                for edge in lineage["edges"] if "task_key" in edge for writer in edge.get("from", [])}
        self.write("mark", '#!/bin/sh\nshift; exec "$@"\n')
        os.chmod(self.path("mark"), 0o755)
        self.write("s.sh", f'set -e\ntask() {{ {self.path("mark")} "$@"; }}\n' + self.SCRIPT)
        os.makedirs(self.path("again"))
        calls = "execve,open,openat,creat,rename,renameat,renameat2,ftruncate,link,linkat,clone,clone3,fork,vfork"
        subprocess.run(["strace", "-f", "-y", "-qq", "-s", "300", "-o", self.path("log"), "-e", f"trace={calls}", "bash",
                        self.path("s.sh")], cwd=self.path("again"), check=True, timeout=300)
        again = os.path.realpath(self.path("again"))
        with open(self.path("log"), encoding="utf-8", errors="replace") as log:
            seen = seen_by_strace(log.read(), self.path("mark"))
        truth = {(writer, reader, os.path.relpath(path, again)) for writer, reader, path in seen
                 if path.startswith(again + "/")}

        def same(edges):
            """What git names by its contents has another name in each run, and a file with two names is shown with one."""
            return {(writer, reader, re.sub("[0-9a-f]{2}/[0-9a-f]{38}", "…", path).replace("link.txt", "sorted.txt"))
                    for writer, reader, path in edges}

        self.assertGreater(len(truth), 20)
        self.assertFalse(same(said) - same(truth))
        missing = same(truth) - same(said)
        self.assertLessEqual(len(missing), len(same(truth)) // 20, sorted(missing))


class PlannedGraphs(Traced):
    """Tasks that sleep, and pass on files that are named anew, overwritten, or temporary."""

    def plan(self, seed):
        choose = random.Random(seed)
        tasks = []
        holder = {}  # By file: the task that has written it last.
        for number in range(choose.randint(6, 9)):
            inputs = choose.sample(sorted(holder), min(len(holder), choose.randint(0, 2)))
            output = choose.choice(sorted(holder)) if holder and choose.random() < 0.3 else f"f{number}"
            needs = {holder[each] for each in inputs}
            tasks.append((f"T{number}", needs, inputs, output, choose.choice((0.02, 0.05, 0.1)), choose.random() < 0.5))
            holder[output] = f"T{number}"
        return tasks

    def test_the_critical_path_is_that_of_the_plan(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                shutil.rmtree(self.path("work"), ignore_errors=True)
                tasks = self.plan(seed)
                lines = []
                for name, _, inputs, output, seconds, scratch in tasks:
                    reads = f"cat {' '.join(inputs)} > /dev/null; " if inputs else ""
                    temporary = "seq 9 > scratch; cat scratch > /dev/null; " if scratch else ""
                    lines.append(f"task {name} bash -c '{reads}{temporary}sleep {seconds}; seq {len(name)} 500 > {output}'")
                lineage = self.lineage_of("\n".join(lines))
                expected = {(need, name) for name, needs, *_ in tasks for need in needs}
                self.assertEqual({each[:2] for each in self.passes(lineage)[0]}, expected)
                answer = json.loads(self.tracerd("why", "--json", self.recording).stdout)
                path = answer["runs"][0]["critical_path"]
                report = json.loads(self.tracerd("report", "--json", self.recording).stdout)
                took = {row["sample"]: row["wall_ns"] for row in report["tasks"]}
                longest = {}
                for name, needs, *_ in tasks:
                    longest[name] = took[name] + max((longest[need] for need in needs), default=0)
                self.assertAlmostEqual(path["length_ns_at_least"], max(longest.values()), delta=len(tasks) * 1_000_000)
                self.assertGreaterEqual(path["length_ns_at_most"], path["length_ns_at_least"])


if __name__ == "__main__":
    support.main()
