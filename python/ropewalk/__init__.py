"""Networks with radios, links, TCP, MPTCP and bonding tunnels, in virtual time.

    import ropewalk

    scenario = ropewalk.Scenario.load("scenarios/quickstart.toml")
    run = ropewalk.run(scenario, seed=7)
    run.metric("flow.down.goodput_mbps")            # Mbit/s
    run.flow.to_polars()                            # or .to_pandas(), .to_arrow(): no copy

    slow = [scenario.override({"link.wan2.delay": d}, labels={"delay": d}) for d in ("10ms", "100ms")]
    result = ropewalk.sweep(slow, seeds=8, out="delays")
    result.flow.to_polars()

The tables' columns, with their units, are in docs/guide/tables.md and in ``Table.units``. The same scenario, seed
and build give the same rows, to the bit, on every machine.
"""

from ._core import BUILD, SCHEMA, TABLES, Run, Scenario, ScenarioError, Table, run
from ._pools import Pool
from ._sweep import Sweep, SweepError, sweep

__version__ = BUILD.split("+")[0]
__all__ = [
    "BUILD",
    "SCHEMA",
    "TABLES",
    "Pool",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "Table",
    "run",
    "sweep",
]
