"""Sweeps: many scenarios with many seeds, on this machine or on a cluster."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Callable, Iterable

from . import _core
from ._pools import Chunk, Pool, pool
from ._store import Directory, Memory, SweepError

__all__ = ["Sweep", "SweepError", "sweep"]

# Chunks for each slot: enough that nobody waits long for the last one.
CHUNKS = 20
# Most runs of a chunk: what a killed worker loses.
MOST = 100


class Sweep:
    """What a sweep left behind: its tables as attributes (``flow``, ``runs``, ``series``, …), rows in the order of scenarios and seeds."""

    def __init__(self, store: Memory | Directory, names: list[str], axes: list[str], resumed: int) -> None:
        self._store = store
        self.names = names
        """The names of its runs, in order: the column ``run`` of every table."""
        self.axes = axes
        """The names of its axes; the column of an axis is ``axis_NAME``."""
        self.resumed = resumed
        """How many runs were there already."""

    def table(self, name: str) -> _core.Table:
        """A table by its name, read from ``out`` if the sweep has one."""
        return _core.gather(name, self.axes, list(self._store.files(name)), self.names)

    def __getattr__(self, name: str) -> _core.Table:
        if name not in _core.TABLES:
            raise AttributeError(f"a sweep has no `{name}`")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_core.TABLES]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Sweep of {len(self)} runs, axes {', '.join(self.axes) or 'none'}>"


def sweep(
    scenarios: _core.Scenario | Iterable[_core.Scenario],
    seeds: int | Iterable[int] | None = None,
    *,
    on: str | Pool | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    chunk: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Sweep:
    """Makes a run of each scenario with each seed.

    scenarios: a single one stands for all combinations of the axes of its ``[sweep]``; a list is taken as it is. Labels
        (``Scenario.override(…, labels=…)``) become the columns ``axis_NAME`` of every table.
    seeds: how many, from each scenario's own on; or which. As the scenario's ``[sweep]`` says if left out.
    on: ``None`` (threads of this process), ``"ray"``, ``"dask"``, or an object of yours (``ropewalk.Pool``).
    out: a directory for Parquet files, written as runs finish. What is there and whole is not run again, whoever was killed.
    jobs: how many runs at once on this machine; one for each core if left out. Refused on a cluster that is there already, and
        on a pool of yours: these have a number of their own.
    chunk: runs that are worked on, written and lost together.
    progress: a bar; or a function that is told how many runs are done, and of how many.

    Rows are equal to the bit wherever the runs were made. Raises ScenarioError for a wrong scenario before anything runs, and
    SweepError if results cannot be kept.
    """
    runs, axes = plan(scenarios, seeds)
    names = [scenario.run_name(seed, axes) for scenario, seed in runs]
    if len(set(names)) != len(names):
        raise SweepError("two of these runs are the same: give scenarios labels that set them apart, and each seed once")
    store = Memory() if out is None else Directory(Path(out))
    try:
        there = store.finished()
        foreign = there.difference(names)
        if foreign:
            raise SweepError(
                f"{out} holds {len(foreign)} runs that are none of this sweep (another scenario, seed, axis or build): "
                "choose another directory, or delete it"
            )
        missing = [(run, name) for run, name in zip(runs, names) if name not in there]
        if missing:
            work(missing, axes, store, pool(on, jobs), chunk, Progress(progress, len(there), len(names)))
    finally:
        store.close()
    return Sweep(store, names, axes, len(there))


def plan(
    scenarios: _core.Scenario | Iterable[_core.Scenario], seeds: int | Iterable[int] | None
) -> tuple[list[tuple[_core.Scenario, int]], list[str]]:
    """All runs in order, and the axes."""
    whole = scenarios.expand() if isinstance(scenarios, _core.Scenario) else list(scenarios)
    listed = list(seeds) if seeds is not None and not isinstance(seeds, int) else None
    runs = []
    for scenario in whole:
        if listed is not None:
            own = listed
        elif seeds is not None:
            own = [scenario.seed + i for i in range(seeds)]
        else:
            own = scenario.seeds
        runs += [(scenario, seed) for seed in own]
    axes: dict[str, None] = {}
    for scenario in whole:
        axes.update(dict.fromkeys(scenario.labels))
    return runs, list(axes)


def work(
    missing: list[tuple[tuple[_core.Scenario, int], str]],
    axes: list[str],
    store: Memory | Directory,
    workers: Pool,
    size: int | None,
    progress: Progress,
) -> None:
    """Makes the missing runs. The pool has two chunks for each slot at most, so that memory does not grow with the sweep."""
    size = size or max(1, min(MOST, len(missing) // (workers.slots * CHUNKS)))
    pieces = deque(missing[i : i + size] for i in range(0, len(missing), size))
    under_way = 0
    try:
        while pieces or under_way:
            while pieces and under_way < 2 * workers.slots:
                piece = pieces.popleft()
                workers.submit(Chunk([run for run, _ in piece], [name for _, name in piece], axes))
                under_way += 1
            chunk, files = workers.next()
            under_way -= 1
            store.keep(chunk.names[0], files)
            progress.add(len(chunk.names))
    finally:
        workers.close()
        progress.close()


class Progress:
    """A bar, a function, or nothing."""

    def __init__(self, wanted: bool | Callable[[int, int], None], done: int, total: int) -> None:
        self.done, self.total = done, total
        self._tell = wanted if callable(wanted) else None
        self._bar = None
        if wanted is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, initial=done, unit="run")

    def add(self, runs: int) -> None:
        self.done += runs
        if self._tell is not None:
            self._tell(self.done, self.total)
        if self._bar is not None:
            self._bar.update(runs)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
