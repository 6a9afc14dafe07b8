"""Where the chunks of a sweep are worked on: threads of this process, a Ray cluster, a Dask cluster."""

from __future__ import annotations

import os
import queue
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from . import _core

# How often a chunk is tried again whose worker died: more often, and the chunk is what kills
# workers.
RETRIES = 3


class Chunk:
    """Runs that are made together: scenarios with seeds."""

    def __init__(self, runs: list[tuple[_core.Scenario, int]], names: list[str], axes: list[str]) -> None:
        self.runs, self.names, self.axes, self.build = runs, names, axes, _core.BUILD

    def work(self, stop: _core.Stop | None = None) -> dict[str, bytes]:
        """Makes the runs; the same bytes wherever it is done."""
        if self.build != _core.BUILD:
            raise RuntimeError(
                f"this worker has ropewalk {_core.BUILD}, and the sweep is one of {self.build}: install the same"
            )
        if [scenario.run_name(seed, self.axes) for scenario, seed in self.runs] != self.names:
            raise RuntimeError("this worker has other files than the driver: copy those that the scenario names (traces)")
        return _core.execute(self.runs, self.axes, stop)


def work(chunk: Chunk) -> dict[str, bytes]:
    """What a cluster's worker does."""
    return chunk.work()


class Pool(Protocol):
    """Whatever works on chunks. ``sweep(…, on=pool)`` takes any object with these."""

    slots: int
    """How many chunks are worked on at once."""

    def submit(self, chunk: Chunk) -> None:
        """Takes a chunk."""

    def next(self) -> tuple[Chunk, dict[str, bytes]]:
        """Waits for a chunk that is done, whichever it is; raises what its work raised."""

    def close(self) -> None:
        """Ends what is still worked on."""


class Threads:
    """Threads of this process. The engine runs without Python's lock, so they have a core each."""

    def __init__(self, jobs: int | None) -> None:
        self.slots = jobs or len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix="ropewalk")
        self._done: queue.SimpleQueue[tuple[Chunk, Future[dict[str, bytes]]]] = queue.SimpleQueue()
        self._stop = _core.Stop()

    def submit(self, chunk: Chunk) -> None:
        future = self._threads.submit(chunk.work, self._stop)
        future.add_done_callback(lambda future: self._done.put((chunk, future)))

    def next(self) -> tuple[Chunk, dict[str, bytes]]:
        chunk, future = self._done.get()
        return chunk, future.result()

    def close(self) -> None:
        self._stop.set()
        self._threads.shutdown(wait=True, cancel_futures=True)


class Ray:
    """A Ray cluster: the one that this process is connected to, or that ``RAY_ADDRESS`` names, or one of this machine.

    Ray starts a chunk again whose worker or node died.
    """

    def __init__(self, jobs: int | None) -> None:
        import ray

        self._ray = ray
        self._own = not ray.is_initialized()
        if not self._own or os.environ.get("RAY_ADDRESS"):
            refuse(jobs, "a Ray cluster that is there already")
        if self._own:
            # How many processors is asked of a cluster of our own only; another has its own.
            own = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
            ray.init(log_to_driver=False, logging_level="WARNING", **own)
        self.slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._work = ray.remote(num_cpus=1, max_retries=RETRIES)(work)
        self._waiting: dict[Any, Chunk] = {}

    def submit(self, chunk: Chunk) -> None:
        self._waiting[self._work.remote(chunk)] = chunk

    def next(self) -> tuple[Chunk, dict[str, bytes]]:
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1)
        return self._waiting.pop(ready[0]), self._ray.get(ready[0])

    def close(self) -> None:
        for reference in self._waiting:
            self._ray.cancel(reference, force=True)
        self._waiting.clear()
        if self._own:
            self._ray.shutdown()


class Dask:
    """A Dask cluster: the current client's, or one of this machine."""

    def __init__(self, jobs: int | None) -> None:
        import distributed

        try:
            self._client, self._own = distributed.get_client(), False
        except ValueError:
            self._client, self._own = distributed.Client(n_workers=jobs, threads_per_worker=1), True
        if not self._own:
            refuse(jobs, "a Dask cluster that is there already")
        self.slots = max(1, sum(self._client.ncores().values()))
        self._done = distributed.as_completed()
        self._waiting: dict[Any, Chunk] = {}

    def submit(self, chunk: Chunk) -> None:
        future = self._client.submit(work, chunk, pure=False, retries=RETRIES)
        self._waiting[future] = chunk
        self._done.add(future)

    def next(self) -> tuple[Chunk, dict[str, bytes]]:
        future = next(self._done)
        return self._waiting.pop(future), future.result()

    def close(self) -> None:
        self._client.cancel(list(self._waiting))
        self._waiting.clear()
        if self._own:
            self._client.close()


def refuse(jobs: int | None, where: str) -> None:
    """Refuses a number of runs at once that would change nothing."""
    if jobs is not None:
        raise ValueError(f"jobs={jobs} changes nothing on {where}, which has its own number of slots; leave jobs out")


def pool(on: str | Pool | None, jobs: int | None) -> Pool:
    """The pool that a name stands for."""
    known = {None: Threads, "threads": Threads, "ray": Ray, "dask": Dask}
    if on is not None and not isinstance(on, str):
        refuse(jobs, "a pool of yours")
        return on
    if on not in known:
        raise ValueError(f'there is no "{on}" to sweep on; known are "threads", "ray", "dask", or an object of yours')
    try:
        return known[on](jobs)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f'on="{on}" needs a package: pip install "ropewalk[{on}]" ({error})') from error
