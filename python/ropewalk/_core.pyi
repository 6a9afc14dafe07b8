"""The part of the package that is written in Rust."""

from os import PathLike
from typing import Any, Mapping, Sequence

import pandas
import polars
import pyarrow

BUILD: str
"""The build: the version, and a hash of the sources that decide figures. Equal builds give equal runs."""
SCHEMA: str
"""The version of the tables' schema."""
TABLES: list[str]
"""The names of the tables: ``runs``, those of docs/guide/tables.md, ``series``."""

class ScenarioError(ValueError):
    """A scenario is wrong. The text has all that is wrong, a line each, with place, key and what to do."""

    problems: list[tuple[str, str, str]]
    """The same as (place, key, sentence)."""

class Table:
    """Columns with names, types and units, which other libraries take without a copy (Arrow's PyCapsule interface)."""

    name: str
    columns: list[str]
    units: dict[str, str]
    """Units of the columns with numbers: ``Mbit/s``, ``ms``, ``s``, ``B``, ``%``; ``1`` for counts and ratios."""
    docs: dict[str, str]
    """What each column is."""
    def to_polars(self) -> polars.DataFrame:
        """A DataFrame over the same memory."""
    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame over the same memory, whose columns have Arrow's types (``pandas.ArrowDtype``)."""
    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table over the same memory."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Scenario:
    """Who is there, what connects them, what happens, what is measured. It is checked and never changes.

    Keys are those of the scenario file (docs/guide/scenario.md), dotted; ``*`` stands for any characters of a name:
    ``node.*.radio.*.channel``. Values with a unit are texts: ``"20ms"``, ``"54Mbit/s"``.
    """

    title: str
    file: str
    seed: int
    seeds: list[int]
    """The seeds that its ``[sweep]`` names."""
    duration_s: float
    """How long a run lasts in its own time, seconds."""
    hash: str
    labels: dict[str, str]
    """What sets it apart in a sweep: axes with their labels."""
    @staticmethod
    def load(path: str | PathLike[str], overrides: Mapping[str, Any] | None = None) -> Scenario:
        """Reads a scenario file.

        Raises ScenarioError with all that is wrong.
        """
    @staticmethod
    def from_text(
        text: str,
        name: str = "scenario",
        directory: str | PathLike[str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Takes the text of a scenario file; files that it names are looked for in ``directory``."""
    @staticmethod
    def from_dict(
        data: Mapping[str, Any],
        name: str = "dict",
        directory: str | PathLike[str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Takes a scenario as a dictionary with the keys of the file: ``{"duration": "8s", "node": {"a": {}}, …}``."""
    def override(
        self, overrides: Mapping[str, Any] | None = None, labels: Mapping[str, object] | None = None
    ) -> Scenario:
        """Another scenario with these keys set, and with labels that set it apart in a sweep."""
    def expand(self) -> list[Scenario]:
        """One for each combination of the axes of its ``[sweep]``, with their labels; itself if it has none."""
    def run_name(self, seed: int, axes: Sequence[str]) -> str:
        """The name of a run of it in the tables of a sweep with these axes."""
    def to_toml(self) -> str:
        """All of it as TOML, with what was overridden and every copy made."""

class Run:
    """What a run left behind; figures count from the end of the warm-up."""

    runs: Table
    flow: Table
    subflow: Table
    station: Table
    roam: Table
    radio: Table
    interface: Table
    link: Table
    bond: Table
    path: Table
    bunch: Table
    cpu: Table
    series: Table
    seed: int
    trace: str
    """Hash of all that arrived anywhere, and when: equal runs have equal ones."""
    events: int
    """Events that the simulator worked through."""
    expectations: list[tuple[bool, str]]
    """What the scenario expects of a run: (it holds, sentence)."""
    def table(self, name: str) -> Table:
        """A table by its name."""
    def metric(self, name: str) -> float | None:
        """A figure by its name: ``flow.down.goodput_mbps``, ``sum(flow.*.goodput_mbps)``; None if the run has none.

        The end of the name says the unit: Mbit/s here.
        """
    def to_json(self) -> str:
        """The whole report, as ``ropewalk sim run --json`` prints it."""
    def __getattr__(self, name: str) -> Table: ...

class Stop:
    """Asks runs to end, from another thread."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...

def run(scenario: Scenario, seed: int | None = None, stop: Stop | None = None) -> Run:
    """Makes a run; ``seed`` in place of the scenario's. Other threads go on meanwhile, and Ctrl-C ends it.

    Raises ScenarioError with what a model refuses.
    """

def execute(
    runs: Sequence[tuple[Scenario, int]], axes: Sequence[str], stop: Stop | None = None
) -> dict[str, bytes]:
    """Makes runs one after the other: a Parquet file for each table that has rows."""

def gather(name: str, axes: Sequence[str], parts: Sequence[bytes], order: Sequence[str]) -> Table:
    """One table out of such files, in the order of the runs' names."""

def run_names(file: bytes) -> list[str]:
    """The names of the runs of such a file of the table ``runs``."""
