"""Sweeps on a Ray cluster of two workers, one of them killed; the driver killed; the same rows all the same."""

import os
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

import ropewalk
from common import Case, delays, refused

try:
    import ray
except ModuleNotFoundError:
    ray = None

KILLED = """
import sys, ray, ropewalk
from common import delays
ray.init(address="{address}", log_to_driver=False, logging_level="ERROR")
ropewalk.sweep(delays("10ms", "40ms"), seeds=20, on="ray", out=sys.argv[1], chunk=1, progress=False)
"""


def descendants(pid: int) -> list[int]:
    """The processes below one, by /proc."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [pid]
    while left:
        children = below.get(left.pop(), [])
        found += children
        left += children
    return found


def workers() -> list[int]:
    """The processes of this test's cluster that work on a chunk."""
    found = []
    for pid in descendants(os.getpid()):
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::work"):
                found.append(pid)
        except OSError:
            pass
    return found


PLACE: list[str] = []


def cluster() -> str:
    """A cluster of two workers on this machine, which sends nothing to anybody; its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Not below TMPDIR: sockets have short names.
    PLACE.append(tempfile.mkdtemp(prefix="rw-ray-", dir="/tmp"))
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    return ray.init(num_cpus=2, _temp_dir=PLACE[0], **quiet).address_info["gcs_address"]


def end_cluster() -> None:
    ray.shutdown()
    while PLACE:
        shutil.rmtree(PLACE.pop(), ignore_errors=True)


@unittest.skipUnless(ray, "ray is not installed")
class OnRay(Case):
    @classmethod
    def setUpClass(cls):
        where = [str(Path(ropewalk.__file__).parents[1]), str(Path(__file__).parent)]
        os.environ["PYTHONPATH"] = os.pathsep.join(where)
        cls.address = cluster()

    @classmethod
    def tearDownClass(cls):
        end_cluster()

    def test_a_killed_worker_changes_nothing(self):
        killed = []

        def kill_one(done: int, total: int) -> None:
            until = time.monotonic() + 60
            while not killed and done < total // 2 and time.monotonic() < until:
                for pid in workers()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        swept = ropewalk.sweep(delays("10ms", "40ms"), seeds=10, on="ray", chunk=1, progress=kill_one)
        self.assertEqual(len(killed), 1)
        self.assertEqual(len(swept), 20)
        self.assert_same(swept, ropewalk.sweep(delays("10ms", "40ms"), seeds=10, progress=False))

    def test_a_killed_driver_is_followed_by_another(self):
        out = self.directory / "out"
        whole = self.killed_in_the_middle(KILLED.format(address=self.address), out, 3)
        self.assertLess(whole, 40)
        swept = ropewalk.sweep(delays("10ms", "40ms"), seeds=20, on="ray", out=out, progress=False)
        self.assertEqual(swept.resumed, whole)
        self.assert_same(swept, ropewalk.sweep(delays("10ms", "40ms"), seeds=20, progress=False))

    def test_a_scenario_that_a_model_refuses_is_told_as_at_home(self):
        with self.assertRaisesRegex(ropewalk.ScenarioError, "none.trace"):
            ropewalk.sweep([refused()], on="ray", progress=False)
