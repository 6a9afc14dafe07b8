"""One run: the program's own figures, and tables that others take without a copy."""

import json
import subprocess
import threading
import time

import polars
import pyarrow

import ropewalk
from ropewalk import _core
from common import BOND, PROGRAM, Case, refused, scenario


class Runs(Case):
    def test_a_run_is_that_of_the_program_to_the_bit(self):
        if not PROGRAM:
            self.skipTest("ROPEWALK_PROGRAM names no program")
        file = self.directory / "bond.toml"
        file.write_text(BOND)
        printed = subprocess.run(
            [PROGRAM, "sim", "run", file, "--seed", "5", "--json"], check=True, capture_output=True, text=True
        )
        run = ropewalk.run(ropewalk.Scenario.load(file), seed=5)
        self.assertEqual(json.loads(run.to_json()), json.loads(printed.stdout))
        other = ropewalk.run(ropewalk.Scenario.load(file), seed=6)
        self.assertNotEqual(other.trace, run.trace)

    def test_tables_of_the_program_and_of_the_package_are_one(self):
        if not PROGRAM:
            self.skipTest("ROPEWALK_PROGRAM names no program")
        file, out = self.directory / "bond.toml", self.directory / "out"
        file.write_text(BOND)
        subprocess.run(
            [PROGRAM, "sim", "run", file, "--out", out, "--format", "parquet"], check=True, capture_output=True
        )
        run = ropewalk.run(ropewalk.Scenario.load(file))
        for name in ("runs", "flow", "link", "path", "series"):
            written = polars.read_parquet(out / f"{name}.parquet").drop("run")
            self.assertTrue(written.equals(run.table(name).to_polars().drop("run")), name)

    def test_polars_and_pyarrow_read_the_same_memory(self):
        run = ropewalk.run(scenario())
        table = pyarrow.table(run.series)
        address = table["value"].chunk(0).buffers()[1].address
        self.assertEqual(pyarrow.table(run.series)["value"].chunk(0).buffers()[1].address, address)
        column = polars.DataFrame(run.series)["value"]
        self.assertEqual(column.to_arrow().buffers()[1].address, address)
        frame = run.series.to_pandas()
        self.assertEqual(frame["value"].array.__arrow_array__().chunk(0).buffers()[1].address, address)
        self.assertEqual(len(frame), len(run.series))

    def test_figures_have_names_and_units(self):
        run = ropewalk.run(scenario())
        goodput = run.flow.to_polars()["goodput_mbps"][0]
        self.assertGreater(goodput, 4)
        self.assertEqual(run.metric("flow.down.goodput_mbps"), goodput)
        self.assertIsNone(run.metric("flow.up.goodput_mbps"))
        with self.assertRaisesRegex(ValueError, "did you mean `goodput_mbps`"):
            run.metric("flow.down.goodput")
        self.assertEqual(run.flow.units["goodput_mbps"], "Mbit/s")
        self.assertEqual(run.flow.units["timeouts"], "1")
        field = run.flow.to_arrow().schema.field("rtt_ms")
        self.assertEqual(field.metadata[b"unit"], b"ms")
        self.assertEqual(run.flow.to_arrow().schema.metadata[b"ropewalk.schema"], ropewalk.SCHEMA.encode())
        self.assertEqual((len(run.station), run.station.to_polars().height), (0, 0))
        with self.assertRaises(AttributeError):
            run.nothing

    def test_what_the_scenario_expects_is_judged(self):
        expects = '[[expect]]\nmetric = "flow.down.goodput_mbps"\nmin = {}\n'
        text = BOND + expects.format(1) + expects.format(1000)
        (holds, _), (fails, sentence) = ropewalk.run(ropewalk.Scenario.from_text(text)).expectations
        self.assertEqual((holds, fails), (True, False))
        self.assertIn("expected at least 1000", sentence)

    def test_other_threads_run_and_a_stop_ends_a_run(self):
        endless = scenario().override({"duration": "100000s", "warmup": "1s", "measure.interval": "1000s"})
        stop, ended = _core.Stop(), []

        def work():
            try:
                ropewalk.run(endless, stop=stop)
            except InterruptedError as error:
                ended.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        # With Python's lock held by the run, this thread would not come here before a day is over.
        time.sleep(0.2)
        stop.set()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual(len(ended), 1)

    def test_what_a_model_refuses_is_told_as_the_checker_does(self):
        with self.assertRaises(ropewalk.ScenarioError) as caught:
            ropewalk.run(refused())
        self.assertIn("none.trace", str(caught.exception))
        self.assertEqual(caught.exception.problems[0][1], "link.wan1.trace")
