# SPDX-License-Identifier: Apache-2.0
"""Tables: each reader gets the values of `tracerd dump`."""

import gc
import math
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import tracer
from recordings import DEADLINE_SECONDS, TRACERD, TestCase, why_no_tracing

MAKE_EVENTS = os.environ.get(
    "TRACER_MAKE_EVENTS", os.path.join(os.path.dirname(TRACERD), "tests", "python", "make_events"))
NAMES = ("processes", "programs", "samples", "tasks", "runs", "events", "losses", "hosts", "files", "connections",
         "containers", "devices")
# The events that are rows, by table. Processes that have not ended, and programs, are looked at on their own.
KINDS = {
    "processes": {"process_exit"},
    "samples": {"process_sample", "tool_sample", "cgroup_sample"},
    "tasks": {"task_finish"},
    "runs": {"run_finish"},
    "losses": {"loss"},
    "hosts": {"host"},
    "files": {"file_use"},
    "connections": {"connection"},
    "containers": {"container_start", "container_finish"},
    "devices": {"device_sample"},
}


def flat(fields, prefix=""):
    """The fields of a JSON object by the names of columns."""
    out = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            out |= flat(value, "" if name == "context" and not prefix else f"{prefix}{name}_")
        else:
            out[prefix + name] = value
    return out


def expected(dump, table):
    """The rows of `table` by the lines of a dump, as far as JSON has them."""
    if table == "events":
        return [flat(event) for event in dump if event["kind"] != "host"]
    if table == "programs":
        rows = []
        for event in dump:
            group = {"process_exec": "ended", "process_exit": "program"}.get(event["kind"])
            if group is None:
                continue
            own = flat(event[group])
            own["program_start_ns"] = own.pop("start_ns")
            own["program_end_ns"] = own.pop("end_ns")
            about = ("pid", "start_ns", "time_ns", "uid", "cgroup", "attached_ns", "parent_pid")
            rows.append({name: event[name] for name in about} | own)
        return rows
    return [flat(event) for event in dump if event["kind"] in KINDS[table]]


class TableCase(TestCase):
    def all_events(self, rounds=1):
        path = self.path("events.tracer")
        subprocess.run([MAKE_EVENTS, path, str(rounds)], check=True, timeout=DEADLINE_SECONDS)
        return path

    def check_rows(self, table, rows, path):
        """Columns of JSON have its values; a group that JSON has as null is null in all columns that begin with its name."""
        wanted = expected(self.dump(path), table)
        if table == "processes":
            rows = rows[: len(wanted)]
        self.assertEqual(len(rows), len(wanted))
        compared = 0
        for row, fields in zip(rows, wanted, strict=True):
            for name, value in fields.items():
                if name in row:
                    self.assertEqual(row[name], value, f"{table}.{name}")
                    compared += value is not None
                elif value is None and name != "context":  # Its columns do not begin with its name.
                    for column in row:
                        if column.startswith(f"{name}_"):
                            self.assertIsNone(row[column], f"{table}.{column}")
        self.assertGreater(compared, 2 * len(wanted))


def plain(value):
    """What pandas and duckdb give for a value, as JSON has it."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType":
        return None
    if type(value).__name__ == "ndarray":
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value.item() if hasattr(value, "item") else value


def rows_of_frame(frame):
    columns = {name: [plain(value) for value in frame[name].astype(object)] for name in frame.columns}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def rows_of_relation(relation):
    return [dict(zip(relation.columns, (plain(value) for value in row))) for row in relation.fetchall()]


class EachReader(TableCase):
    """Each of them reads each table, of a recording with every field and with none."""

    def read_all(self, read):
        path = self.all_events()
        recording = tracer.read(path)
        for name in NAMES:
            with self.subTest(table=name):
                self.check_rows(name, read(recording, name), path)

    def test_dicts(self):
        self.read_all(lambda recording, name: recording.table(name).to_dicts())

    def test_pandas(self):
        self.read_all(lambda recording, name: rows_of_frame(recording.table(name).to_pandas()))

    def test_pyarrow(self):
        def read(recording, name):
            table = recording.table(name).to_arrow()
            table.validate(full=True)
            return table.to_pylist()

        self.read_all(read)

    def test_polars(self):
        self.read_all(lambda recording, name: recording.table(name).to_polars().to_dicts())

    def test_duckdb(self):
        self.read_all(lambda recording, name: rows_of_relation(recording.sql(f"select * from {name}")))

    def test_each_table_is_an_attribute(self):
        recording = tracer.read(self.all_events())
        for name in NAMES:
            self.assertEqual(getattr(recording, name).name, name)


class WithoutPyarrow(TableCase):
    def run_without(self, packages, code):
        """In a Python of its own, in which these can't be imported."""
        block = f"import sys\nfor name in {packages!r}: sys.modules[name] = None\n"
        done = subprocess.run([sys.executable, "-c", block + textwrap.dedent(code), self.all_events()],
                              capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_pandas_polars_and_duckdb(self):
        out = self.run_without(["pyarrow"], """
            import tracer
            recording = tracer.read(sys.argv[1])
            from tracer._tables import NAMES
            for name in NAMES:
                table = recording.table(name)
                rows = table.to_dicts()
                frame = table.to_pandas()
                assert len(frame) == len(rows), name
                polars = table.to_polars().to_dicts()
                assert polars == rows, name
                relation = recording.sql(f"select * from {name}")
                assert len(relation.fetchall()) == len(rows), name
                for column in table.columns:
                    values = [None if value is None or type(value).__name__ == "NAType" or value != value else value
                              for value in frame[column].astype(object)]
                    assert values == [row[column] for row in rows], (name, column)
            assert "pyarrow" not in [name for name, module in sys.modules.items() if module is not None]
            print("good")
        """)
        self.assertEqual(out.strip(), "good")

    def test_what_is_missing_is_named_with_its_fix(self):
        out = self.run_without(["pandas", "polars", "pyarrow", "duckdb", "numpy"], """
            import tracer
            recording = tracer.read(sys.argv[1])
            for use in ("pandas", "polars", "arrow"):
                try:
                    getattr(recording.processes, f"to_{use}")()
                except tracer.MissingPackageError as error:
                    assert isinstance(error, ImportError)
                    print(error.fix)
            try:
                recording.sql("select 1")
            except tracer.MissingPackageError as error:
                print(error.fix)
            assert recording.processes.to_dicts()
        """)
        self.assertEqual(out.splitlines(),
                         ["pip install pandas", "pip install polars", "pip install pyarrow", "pip install duckdb"])


class Batches(TableCase):
    """More rows than a batch has, with dictionaries that differ between batches."""

    ROWS = 70_000

    def setUp(self):
        super().setUp()
        self.recording = tracer.read(self.made_up(self.ROWS, 1))
        self.tools = [f"tool{i % 40}" for i in range(self.ROWS)]
        self.ids = [str(i) for i in range(self.ROWS)]

    def test_there_are_several(self):
        self.assertEqual(self.recording.processes.to_arrow()["tool"].num_chunks, 2)

    def test_pandas(self):
        frame = self.recording.processes.to_pandas()
        self.assertEqual(frame["tool"].tolist(), self.tools)
        self.assertEqual(frame["task_id"].tolist(), self.ids)
        self.assertEqual(str(frame["tool"].dtype), "category")
        self.assertEqual(len(frame["tool"].cat.categories), 40)
        self.assertEqual(frame["cpu_ns"].dtype, "UInt64")
        self.assertEqual(frame.groupby("tool", observed=True).size().sum(), self.ROWS)
        frame.loc[0, "cpu_ns"] = 1

    def test_pyarrow(self):
        table = self.recording.processes.to_arrow()
        table.validate(full=True)
        self.assertEqual(table["tool"].to_pylist(), self.tools)
        self.assertEqual(table.combine_chunks()["task_id"].to_pylist(), self.ids)

    def test_polars(self):
        frame = self.recording.processes.to_polars()
        self.assertEqual(frame["tool"].cast(str).to_list(), self.tools)
        self.assertEqual(frame["task_id"].cast(str).to_list(), self.ids)
        self.assertEqual(frame.group_by("tool").len()["len"].sum(), self.ROWS)

    def test_duckdb(self):
        relation = self.recording.sql("select tool, count(*), sum(cpu_ns) from processes group by tool")
        rows = relation.fetchall()
        self.assertEqual(len(rows), 40)
        self.assertEqual(sum(row[1] for row in rows), self.ROWS)
        self.assertEqual(sum(row[2] for row in rows), sum((i % 100 + 1) * 1_000_000 for i in range(self.ROWS)))
        joined = self.recording.sql(
            "select count(*) from processes join programs using (pid, start_ns) where processes.tool = programs.tool")
        self.assertEqual(joined.fetchall()[0][0], self.ROWS)

    def test_dicts_and_counts(self):
        self.assertEqual([row["tool"] for row in self.recording.processes.rows()], self.tools)
        self.assertEqual(self.recording.processes.count_rows(), self.ROWS)

    def test_threads_read_at_once(self):
        counts = []
        threads = [threading.Thread(target=lambda: counts.append(self.recording.processes.count_rows()))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [self.ROWS] * 4)


class Capsules(TableCase):
    def test_each_call_gives_a_fresh_stream(self):
        import pyarrow

        table = tracer.read(self.all_events()).processes
        first = table.to_arrow()
        self.assertEqual(table.to_arrow(), first)
        self.assertEqual(pyarrow.table(table), first)
        self.assertEqual(pyarrow.RecordBatchReader.from_stream(table).read_all(), first)
        self.assertEqual(pyarrow.schema(table), first.schema)
        self.assertEqual(tuple(first.schema.names), table.columns)

    def test_capsules_that_nobody_takes_are_freed(self):
        table = tracer.read(self.all_events()).events
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            table.__arrow_c_schema__()
            table.__arrow_c_stream__()
            table.__arrow_c_stream__(requested_schema=None)
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_a_stream_is_read_once(self):
        from tracer import _core

        table = tracer.read(self.all_events()).events
        capsule, status = table._stream()
        self.assertGreater(sum(batch.rows for batch in _core.BatchReader(capsule, status)), 0)
        with self.assertRaises(ValueError):
            _core.BatchReader(capsule, status)

    def test_arrays_outlive_all_else(self):
        frame = tracer.read(self.all_events()).processes.to_arrow()
        column = frame["argv"]
        wanted = column.to_pylist()
        del frame
        gc.collect()
        self.assertEqual(column.to_pylist(), wanted)


class Shown(TableCase):
    def test_schema_and_repr(self):
        table = tracer.read(self.all_events()).processes
        self.assertEqual(repr(table), f"<tracer.Table processes: {len(table.columns)} columns>")
        self.assertEqual(tuple(table.schema), table.columns)
        self.assertEqual(table.schema["pid"], "uint32")
        self.assertEqual(table.schema["start_ns"], "uint64")
        self.assertEqual(table.schema["exit_code"], "int32")
        self.assertEqual(table.schema["tool"], "text")
        self.assertEqual(table.schema["argv"], "list of text")
        self.assertEqual(table.schema["labels"], "list of struct of name, value")

    def test_html_has_the_first_rows_escaped(self):
        recording = tracer.read(self.made_up(30, 3, "<script>alert(1)</script>"))
        page = recording.processes._repr_html_()
        self.assertEqual(page.count("<tr>"), 11)
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;script&gt;", page)
        self.assertIn("the first 10 rows", page)
        self.assertIn("0 rows", tracer.read(self.made_up(1)).losses._repr_html_())

    def test_html_has_zeros_but_nothing_hidden_or_unknown(self):
        hostile = "\u202e\x1b[31m\u200b</td>"
        page = tracer.read(self.made_up(3, 1, text=hostile)).processes._repr_html_()
        heads = re.findall("<th>(.*?)</th>", page)
        rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", page)]
        self.assertEqual([dict(zip(heads, row, strict=True))["exit_code"] for row in rows], ["0"] * 3)
        self.assertEqual({dict(zip(heads, row, strict=True))["core_dumped"] for row in rows}, {"False"})
        self.assertLessEqual({"pid", "argv", "tool", "task", "cpu_ns"}, set(heads))
        self.assertNotIn("exit_signal", heads)
        for character in "\u202e\x1b\u200b":
            self.assertNotIn(character, page)
        self.assertIn("\\u202e\\x1b[31m\\u200b&lt;/td&gt;", page)

    def test_unknown_tables_are_refused(self):
        recording = tracer.read(self.all_events())
        with self.assertRaises(tracer.InvalidArgumentError) as caught:
            recording.table("process")
        self.assertIn("processes", caught.exception.fix)


class Awkward(TableCase):
    def test_no_rows(self):
        recording = tracer.read(self.made_up(0))
        for name in NAMES:
            with self.subTest(table=name):
                table = recording.table(name)
                for rows in (len(table.to_dicts()), len(table.to_pandas()), table.to_arrow().num_rows,
                             table.to_polars().height, len(recording.sql(f"select * from {name}").fetchall())):
                    self.assertLessEqual(rows, 1)
                self.assertEqual(tuple(table.to_pandas().columns), table.columns)
                self.assertEqual(table.to_pandas().dtypes.astype(str)["tool"] if "tool" in table.columns else
                                 "category", "category")

    def test_bytes_that_are_no_utf8(self):
        path = self.made_up(3, 1, b"\xff\xfe<")
        recording = tracer.read(path)
        self.check_rows("processes", recording.processes.to_dicts(), path)
        self.assertEqual(recording.processes.to_dicts()[0]["argv"][-1], "input\ufffd\ufffd<")
        self.assertEqual(recording.processes.to_polars()["sample"].cast(str)[0], "S0\ufffd\ufffd<")
        self.assertEqual(recording.sql("select argv[4] from processes limit 1").fetchall()[0][0], "input\ufffd\ufffd<")

    def test_a_recording_that_was_cut_has_what_is_whole(self):
        path = self.made_up(20_000)
        whole = tracer.read(path).processes.count_rows()
        os.truncate(path, os.path.getsize(path) * 2 // 3)
        recording = tracer.read(path)
        left = recording.processes.count_rows()
        self.assertTrue(0 < left < whole)
        self.assertEqual(recording.processes.to_arrow().num_rows, left)
        self.assertTrue(recording.damage)

    def test_a_file_that_is_gone(self):
        path = self.made_up(1)
        recording = tracer.read(path)
        os.remove(path)
        for use in (recording.processes.to_dicts, recording.processes.to_arrow, recording.processes.to_pandas,
                    recording.processes.__arrow_c_stream__):
            with self.assertRaises(tracer.RecordingError) as caught:
                use()
            self.assertEqual(caught.exception.code, "TRC110")

    def test_living_processes_come_behind_those_that_ended(self):
        path = self.all_events()
        rows = tracer.read(path).processes.to_dicts()
        ended = sum(event["kind"] == "process_exit" for event in self.dump(path))
        self.assertEqual(len(rows), ended + 1)
        for row in rows[ended:]:
            for name in ("end_ns", "wall_ns", "exit_code", "threads", "program_cpu_ns"):
                self.assertIsNone(row[name])

    def test_living_processes_are_left_out(self):
        path = self.all_events()
        recording = tracer.read(path)
        rows = recording.table("processes", only_ended=True).to_dicts()
        self.assertEqual(rows, [row for row in recording.processes.rows() if row["end_ns"] is not None])
        self.assertLess(len(rows), recording.processes.count_rows())

    def test_unix_time(self):
        recording = tracer.read(self.made_up(5))
        # Of its frames, which were closed now.
        offset = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        for name in ("processes", "events"):
            offsets = {row["time_unix_ns"] - row["time_ns"] for row in recording.table(name).rows()}
            self.assertTrue(offsets and all(abs(each - offset) < 10**9 for each in offsets), offsets)

    def test_wall_time(self):
        for row in tracer.read(self.made_up(5)).processes.rows():
            self.assertEqual(row["wall_ns"], row["end_ns"] - row["start_ns"])


@unittest.skipIf(why_no_tracing(), why_no_tracing())
class Live(TableCase):
    def test_batches_and_tables_of_a_session(self):
        rows = []
        begin = time.time_ns()
        with tracer.session(families=()) as session:
            batches = session.table_batches("processes", timeout=30)
            for _ in range(20):
                subprocess.run(["/bin/true"], check=True)
            for batch in batches:
                self.assertIsInstance(batch, tracer.Batch)
                self.assertEqual(batch.count_rows(), len(batch))
                some = batch.to_dicts()
                self.assertEqual(len(some), len(batch))
                for _ in range(2):
                    self.assertEqual(batch.to_polars().to_dicts(), some)
                    self.assertEqual(batch.to_arrow().to_pylist(), some)
                rows += some
                if len(rows) >= 20:
                    break
            table = session.processes.to_dicts()
        self.assertEqual([row["exe"] for row in rows], [os.path.realpath("/bin/true")] * 20)
        # Each way, by the offset of a moment of its own.
        for row in table + rows:
            self.assertTrue(begin - 10**7 < row.pop("time_unix_ns") < time.time_ns() + 10**7)
        self.assertEqual([row for row in table if row["end_ns"] is not None], rows)

    def test_a_batch_is_an_array_for_other_packages(self):
        import pyarrow

        with tracer.session(families=()) as session:
            batches = session.table_batches(timeout=30, kinds={"process_exit"})
            subprocess.run(["/bin/true"], check=True)
            batch = next(batches)
        array = pyarrow.record_batch(batch)
        self.assertEqual(array.to_pylist(), batch.to_dicts())
        self.assertEqual(array.column("kind").to_pylist(), ["process_exit"])
        del batch
        gc.collect()
        array.validate(full=True)


if __name__ == "__main__":
    unittest.main()
