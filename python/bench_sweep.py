"""Sweeps on this machine and on a Ray cluster of two workers: equal to the bit whatever is killed, how fast, and what the driver costs.

`./run bench sweep` builds the package in the release profile and runs it; `--runs N` for another number than 2,000.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The sources beside this file have no engine in them: the package that was built goes before them.
sys.path[:] = [*(p for p in sys.path if Path(p).resolve() != HERE), str(HERE / "tests")]

import ropewalk  # noqa: E402

from common import tables  # noqa: E402
from test_ray import cluster, end_cluster, workers  # noqa: E402

# A bond over two paths for four seconds: a short run, so that what a result costs shows.
KEYS = {"duration": "4s", "warmup": "1s", "measure.interval": "1s"}

DRIVER = """
import sys
sys.path[:] = [*(p for p in sys.path if p), *{path!r}]
import ray, ropewalk
from bench_sweep import scenarios
ray.init(address="{address}", log_to_driver=False, logging_level="ERROR")
ropewalk.sweep(scenarios(), seeds={seeds}, on="ray", out=sys.argv[1], progress=False)
"""


def scenarios() -> list[ropewalk.Scenario]:
    """Twenty: five delays by four schedulers."""
    base = ropewalk.Scenario.load(HERE.parent / "scenarios/quickstart.toml", overrides=KEYS)
    return [
        base.override({"link.wan2.delay": delay, "bond.rw0.scheduler": by}, labels={"delay": delay, "scheduler": by})
        for delay in ("10ms", "20ms", "40ms", "80ms", "160ms")
        for by in ("earliest-arrival", "min-rtt", "round-robin", "redundant-low-latency")
    ]


def timed(**options) -> tuple[ropewalk.Sweep, float, float]:
    """A sweep, how long it took, and what of that this process worked, both in seconds."""
    began, worked = time.perf_counter(), time.process_time()
    swept = ropewalk.sweep(scenarios(), **options)
    return swept, time.perf_counter() - began, time.process_time() - worked


def same(one: ropewalk.Sweep, other: ropewalk.Sweep) -> str:
    ours, theirs = tables(one), tables(other)
    differ = [name for name in ours if not ours[name].equals(theirs[name])]
    if differ:
        sys.exit(f"not equal to the bit: {', '.join(differ)}")
    return f"equal to the bit ({sum(table.num_rows for table in ours.values())} rows)"


def kill_one(killed: list[int]):
    """Kills a worker of the cluster once a tenth of the runs is done."""

    def tell(done: int, total: int) -> None:
        while not killed and done >= total // 10:
            for pid in workers()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    return tell


def killed_driver(address: str, seeds: int, out: Path) -> int:
    """A driver of its own that is killed once ten chunks are whole; how many were whole in the end."""
    script = DRIVER.format(path=[str(HERE)], address=address, seeds=seeds)
    child = subprocess.Popen([sys.executable, "-c", script, str(out)])
    while len(list(out.glob("runs/*.parquet"))) < 10:
        if child.poll() is not None:
            sys.exit("the driver that was to be killed ended by itself")
        time.sleep(0.01)
    child.kill()
    child.wait()
    return len(list(out.glob("runs/*.parquet")))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=2000)
    seeds = max(1, arguments.parse_args().runs // len(scenarios()))
    runs = seeds * len(scenarios())
    directory = Path(tempfile.mkdtemp(prefix="ropewalk-bench-sweep-"))
    print(f"{runs} runs, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"{datetime.date.today()}, build {ropewalk.BUILD}", flush=True)
    try:
        local, one, engine = timed(seeds=seeds, jobs=1, progress=False)
        print(f"one thread          {one:8.1f} s  {engine / runs * 1e3:.2f} ms of a processor a run", flush=True)
        _, two, _ = timed(seeds=seeds, jobs=2, progress=False)
        print(f"two threads         {two:8.1f} s  speed-up {one / two:.2f}", flush=True)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(ropewalk.__file__).parents[1]), str(HERE)])
        address = cluster()
        # The workers are there before the clock runs.
        ropewalk.sweep(scenarios()[:1], seeds=4, on="ray", chunk=1, progress=False)
        kept, both, driver = timed(seeds=seeds, on="ray", out=directory / "ray", progress=False)
        size = sum(file.stat().st_size for file in (directory / "ray").rglob("*.parquet"))
        print(f"Ray, two workers    {both:8.1f} s  speed-up {one / both:.2f}, {same(local, kept)}")
        print(f"its driver          {driver:8.1f} s  {driver / runs * 1e3:.3f} ms a run, {size / runs / 1e3:.1f} kB a run", flush=True)
        killed: list[int] = []
        swept, took, _ = timed(seeds=seeds, on="ray", progress=kill_one(killed))
        print(f"one worker killed   {took:8.1f} s  {len(killed)} killed, {same(local, swept)}", flush=True)
        whole = killed_driver(address, seeds, directory / "driver")
        swept, took, _ = timed(seeds=seeds, on="ray", out=directory / "driver", progress=False)
        print(f"driver killed       {took:8.1f} s  {swept.resumed} runs in {whole} chunks were there, {same(local, swept)}")
        print(f"on paper: a million such runs are {1e6 * engine / runs / 3600:.1f} hours of a core, "
              f"{1e6 * engine / runs / 1e4:.0f} s of 10,000; their driver works {1e6 * driver / runs:.0f} s "
              f"and writes {size / runs * 1e6 / 1e9:.1f} GB")
    finally:
        end_cluster()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
