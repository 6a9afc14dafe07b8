"""Sweeps on this machine: the same rows whoever made them, kept when killed, refused when they cannot be kept."""

import os
import pickle
import subprocess
import sys
import types
import unittest.mock

import polars

import ropewalk
from common import BOND, Case, delays, scenario

KILLED = """
import sys, ropewalk
from common import delays
ropewalk.sweep(delays("10ms", "40ms"), seeds=30, out=sys.argv[1], jobs=2, chunk=2, progress=False)
"""

NO_ROOM = """
import resource, signal, sys, ropewalk
from common import delays
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
ropewalk.sweep(delays("10ms"), seeds=2, out=sys.argv[1], progress=False)
"""


def some(**options):
    return ropewalk.sweep(delays("10ms", "40ms"), seeds=4, progress=False, **options)


class Sweeps(Case):
    def test_rows_do_not_depend_on_threads_chunks_or_where_they_are_kept(self):
        alone = some(jobs=1, chunk=8)
        self.assert_same(alone, some(jobs=2, chunk=1))
        kept = some(jobs=2, chunk=3, out=self.directory / "out")
        self.assert_same(alone, kept)
        frame = kept.flow.to_polars()
        self.assertEqual(frame["axis_delay"].to_list(), ["10ms"] * 4 + ["40ms"] * 4)
        self.assertEqual(frame["seed"].to_list(), [1, 2, 3, 4] * 2)
        self.assertEqual(frame["run"].to_list(), kept.names)
        # Null case: another seed is another run.
        self.assertEqual(kept.runs.to_polars()["trace"].n_unique(), 8)
        single = ropewalk.run(delays("40ms")[0], seed=3)
        self.assertEqual(kept.runs.to_polars()["trace"][6], single.trace)
        # Other programs read the files as they are.
        self.assertEqual(polars.read_parquet(self.directory / "out/flow/*.parquet").height, 8)

    def test_a_scenario_with_a_sweep_stands_for_its_combinations(self):
        text = BOND + (
            '[sweep]\nseeds = [7, 9]\n[[sweep.axis]]\nname = "loss"\nkey = "link.wan1.loss"\nvalues = ["0%", "2%"]\n'
        )
        told = []
        swept = ropewalk.sweep(ropewalk.Scenario.from_text(text), progress=lambda done, of: told.append((done, of)))
        runs = swept.runs.to_polars()
        self.assertEqual(runs["axis_loss"].to_list(), ["0%", "0%", "2%", "2%"])
        self.assertEqual(runs["seed"].to_list(), [7, 9, 7, 9])
        self.assertEqual(told, [(1, 4), (2, 4), (3, 4), (4, 4)])

    def test_a_killed_driver_loses_what_was_running_and_no_more(self):
        out = self.directory / "out"
        whole = self.killed_in_the_middle(KILLED, out, 3)
        # What a kill in the middle of a write leaves, wherever it comes; and what is somebody else's.
        half = [out / "flow/0123456789abcdef.parquet", out / "runs/0123456789abcdef.parquet.part"]
        other = out / "flow/mine.parquet.txt"
        for file in [*half, other]:
            file.write_bytes(b"PAR1")
        swept = ropewalk.sweep(delays("10ms", "40ms"), seeds=30, out=out, progress=False)
        self.assertEqual(swept.resumed, 2 * whole)
        self.assertLess(swept.resumed, len(swept))
        self.assertEqual([file.exists() for file in [*half, other]], [False, False, True])
        self.assert_same(swept, ropewalk.sweep(delays("10ms", "40ms"), seeds=30, progress=False))

    def test_a_sweep_goes_on_where_it_ended_and_grows(self):
        out = self.directory / "out"
        ropewalk.sweep(delays("10ms", "40ms"), seeds=2, out=out, progress=False)
        more = some(out=out)
        self.assertEqual(more.resumed, 4)
        self.assert_same(more, some())
        before = {file: file.stat().st_mtime_ns for file in out.rglob("*.parquet")}
        self.assertEqual(some(out=out).resumed, 8)
        self.assertEqual({file: file.stat().st_mtime_ns for file in out.rglob("*.parquet")}, before)

    def test_tables_are_found_from_another_current_directory(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        swept = some(out="out")
        os.chdir(os.sep)
        self.assert_same(swept, some())

    def test_what_is_damaged_or_of_another_sweep_is_said_and_left_alone(self):
        out = self.directory / "out"
        some(out=out, chunk=8)
        with self.assertRaisesRegex(ropewalk.SweepError, "holds 8 runs that are none of this sweep"):
            ropewalk.sweep(delays("11ms"), out=out, progress=False)
        fewer = r"holds 4 runs that are none of this sweep \(another scenario, seed, axis or build\)"
        with self.assertRaisesRegex(ropewalk.SweepError, fewer):
            ropewalk.sweep(delays("10ms", "40ms"), seeds=2, out=out, progress=False)
        (file,) = out.glob("runs/*.parquet")
        file.write_bytes(file.read_bytes()[:-20] + bytes(20))
        with self.assertRaisesRegex(ropewalk.SweepError, "no whole Parquet file.*delete it"):
            some(out=out)
        file.unlink()
        self.assert_same(some(out=out), some())

    def test_a_table_that_is_gone_or_short_is_made_again(self):
        out = self.directory / "out"
        some(out=out, chunk=8)
        (file,) = out.glob("flow/*.parquet")
        for damage in [file.unlink, lambda: file.write_bytes(file.read_bytes()[:-20])]:
            damage()
            swept = some(out=out, chunk=8)
            self.assertEqual(swept.resumed, 0)
            self.assert_same(swept, some())
        self.assertEqual(some(out=out).resumed, 8)

    def test_a_trace_with_other_contents_makes_other_runs(self):
        trace = self.directory / "rates.trace"
        text = BOND.replace('rate = "8Mbit/s"', 'trace = "rates.trace"')

        def named() -> str:
            return ropewalk.Scenario.from_text(text, directory=self.directory).run_name(1, [])

        trace.write_text("1\n2\n")
        scenario = ropewalk.Scenario.from_text(text, directory=self.directory)
        chunk = ropewalk._pools.Chunk([(scenario, 1)], [scenario.run_name(1, [])], [])
        before, again = named(), named()
        self.assertEqual(before, again)
        trace.write_text("1\n3\n")
        self.assertNotEqual(before, named())
        with self.assertRaisesRegex(RuntimeError, "other files than the driver"):
            pickle.loads(pickle.dumps(chunk)).work()
        # One that is not below the scenario's directory counts, too.
        text = text.replace('"rates.trace"', '"../rates.trace"')
        (self.directory / "below").mkdir()

        def beside() -> str:
            return ropewalk.Scenario.from_text(text, directory=self.directory / "below").run_name(1, [])

        before = beside()
        trace.write_text("1\n2\n")
        self.assertNotEqual(before, beside())

    def test_one_sweep_writes_to_a_directory(self):
        out = self.directory / "out"
        store = ropewalk._store.Directory(out)
        with self.assertRaisesRegex(ropewalk.SweepError, "another sweep writes to"):
            some(out=out)
        store.close()
        some(out=out)

    def test_a_place_that_cannot_be_written_is_a_sentence(self):
        taken = self.directory / "file"
        taken.write_text("")
        with self.assertRaisesRegex(ropewalk.SweepError, "results cannot be written to .*file: .*; choose another out"):
            some(out=taken)
        out = self.directory / "full"
        ended = subprocess.run(
            [sys.executable, "-c", NO_ROOM, out], capture_output=True, text=True, cwd=os.path.dirname(__file__)
        )
        last = ended.stderr.splitlines()[-1]
        self.assertRegex(last, "^ropewalk._store.SweepError: .*cannot be written: File too large; what is finished is kept")
        self.assertEqual(list(out.glob("*/*.parquet*")), [])

    def test_runs_that_are_the_same_are_refused(self):
        with self.assertRaisesRegex(ropewalk.SweepError, "two of these runs are the same"):
            ropewalk.sweep([scenario(), scenario()], progress=False)
        with self.assertRaisesRegex(ValueError, 'there is no "cloud" to sweep on'):
            some(on="cloud")

    def test_jobs_are_refused_where_they_would_change_nothing(self):
        ray = types.SimpleNamespace(is_initialized=lambda: True)
        dask = types.SimpleNamespace(get_client=lambda: None)
        with unittest.mock.patch.dict(sys.modules, ray=ray, distributed=dask):
            for on, where in [("ray", "a Ray cluster"), ("dask", "a Dask cluster"), (object(), "a pool of yours")]:
                with self.assertRaisesRegex(ValueError, f"jobs=2 changes nothing on {where}.*; leave jobs out"):
                    some(on=on, jobs=2)
            ray.is_initialized = lambda: False
            with unittest.mock.patch.dict(os.environ, RAY_ADDRESS="10.0.0.1:6379"):
                with self.assertRaisesRegex(ValueError, "jobs=2 changes nothing on a Ray cluster"):
                    some(on="ray", jobs=2)

    def test_dask_gives_the_same_rows(self):
        try:
            import distributed
        except ModuleNotFoundError:
            self.skipTest("distributed is not installed")
        with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
            self.assert_same(some(on="dask", chunk=1), some())
