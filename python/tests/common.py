"""What several tests use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import ropewalk

ROOT = Path(__file__).resolve().parents[2]
# The program of the same build, whose runs are to be equal; `./run python` names it.
PROGRAM = os.environ.get("ROPEWALK_PROGRAM", "")

# Two cables of unlike rate and delay, a tunnel over both, one TCP connection. A tenth of a second to run.
BOND = """
title = "a bond"
duration = "1200ms"
warmup = "400ms"
[measure]
interval = "200ms"
[node.client]
[node.gateway]
[[link]]
name = "wan1"
ends = ["client:wan1", "gateway:isp1"]
rate = "8Mbit/s"
delay = "10ms"
loss = "1%"
[[link]]
name = "wan2"
ends = ["client:wan2", "gateway:isp2"]
rate = "4Mbit/s"
delay = "30ms"
[bond.rw0]
client = "client"
gateway = "gateway"
paths = ["wan1", "wan2"]
[[flow]]
name = "down"
kind = "tcp"
from = "gateway"
to = "client:rw0"
# The tunnel stands by then.
start = "300ms"
"""


def scenario() -> ropewalk.Scenario:
    return ropewalk.Scenario.from_text(BOND)


def delays(*values: str) -> list[ropewalk.Scenario]:
    return [scenario().override({"link.wan2.delay": d}, labels={"delay": d}) for d in values]


def refused() -> ropewalk.Scenario:
    """One that its check lets through and a model refuses: the file of rates is not there."""
    return ropewalk.Scenario.from_text(BOND.replace('rate = "8Mbit/s"', 'trace = "none.trace"'))


def tables(result: ropewalk.Run | ropewalk.Sweep) -> dict[str, object]:
    """All tables, to be compared: rows, their order, every bit of every figure."""
    return {name: result.table(name).to_arrow() for name in ropewalk.TABLES}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ropewalk-python-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def assert_same(self, one: object, other: object) -> None:
        """Equal to the bit, and not for want of rows."""
        ours, theirs = tables(one), tables(other)
        self.assertGreater(ours["flow"].num_rows, 0)
        for name, table in ours.items():
            self.assertTrue(table.equals(theirs[name], check_metadata=True), name)

    def killed_in_the_middle(self, script: str, out: Path, whole: int) -> int:
        """Starts a driver, kills it once so many chunks are whole, and says how many were whole in the end."""
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(out)], stdin=subprocess.DEVNULL, cwd=Path(__file__).parent
        )
        try:
            while len(list(out.glob("runs/*.parquet"))) < whole:
                self.assertIsNone(child.poll(), "the driver ended by itself")
                time.sleep(0.005)
        finally:
            child.kill()
            child.wait()
        return len(list(out.glob("runs/*.parquet")))
