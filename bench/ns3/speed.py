#!/usr/bin/env python3
"""How fast ns-3 runs the cases of scenarios/bench: a line `name simulated_s wall_s simulated_s_per_s events_per_s` for each.

Only ns-3's Simulator::Run is timed; loading ns-3 takes some ten seconds more. `./run bench sim` calls it if ROPEWALK_NS3 names a Python
that has the wheel: `python3 -m venv ENV && ENV/bin/pip install ns3`, then ROPEWALK_NS3=ENV/bin/python.
"""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import BENCH
from run import PAYLOAD, build, load_lab


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    ropewalk = load_lab()
    for case in BENCH:
        lab = ropewalk.Lab()
        build(lab, case, 1)
        mbps = sum(lab.Run(2.0, seconds, PAYLOAD))
        simulated, wall = seconds + 2.0, lab.Wall()
        print(f"{case.name} {simulated:g} {wall:.3f} {simulated / wall:.3f} {lab.Events() / wall:.0f} {mbps:.3f}", flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)
