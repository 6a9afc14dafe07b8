#!/usr/bin/env python3
"""Runs our model on the scenarios of scenarios/validation and prints, per station, its figures beside those stored of ns-3.

    cargo build --release -p ropewalk
    python3 bench/ns3/compare.py [--only PART] [--seeds N]

Exit code 1 if a total is outside its band, or a station off its share by more than its band and three standard errors of ns-3's figure.
"""
import argparse, csv, json, os, statistics, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CASES, Udp
from run import HERE, flow_name, load
from scenarios import flow_names

ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))


def ours(binary, case, seeds):
    """Per flow of the case: (mean goodput, standard error) over the seeds."""
    path = os.path.join(ROOT, "scenarios", "validation", case.name + ".toml")
    got = []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([binary, "sim", "run", path, "--seed", str(seed), "--out", out], check=True, stdout=subprocess.DEVNULL)
            with open(os.path.join(out, "report.json")) as f:
                flows = {row["name"]: row["goodput_mbps"] for row in json.load(f)["flow"]}
        # Reports count bytes of the application, the stored figures of UDP those of IP packets.
        got.append([flows[name] * (1500 / 1472 if isinstance(f, Udp) else 1) for name, f in zip(flow_names(case), case.flows)])

    def pair(v):
        return statistics.mean(v), statistics.stdev(v) / len(v) ** 0.5 if len(v) > 1 else 0.0
    return [pair([g[i] for g in got]) for i in range(len(case.flows))] + [pair([sum(g) for g in got])]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", action="append")
    p.add_argument("--seeds", type=int)
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "ropewalk"))
    p.add_argument("--results", default=os.path.join(HERE, "results", "ns3.csv"))
    a = p.parse_args()
    stored = {(r[0], r[1]): (float(r[2]), float(r[3])) for r in load(a.results)}
    outside = []
    print("| case | flow | ours, Mb/s | ns-3, Mb/s | ratio | band |\n|---|---|---|---|---|---|")
    for case in CASES:
        if a.only and not any(o in case.name for o in a.only) or (case.name, "total") not in stored:
            continue
        names = [flow_name(f) for f in case.flows] + ["total"]
        share = stored[(case.name, "total")][0] / len(case.flows)
        for name, (mean, err) in zip(names, ours(a.binary, case, a.seeds or case.seeds)):
            theirs, noise = stored[(case.name, name)]
            whole = name == "total"
            band = (case.band if whole else case.station_band) / 100
            allowed = band * (theirs if whole else share) + 3 * (noise ** 2 + err ** 2) ** 0.5
            bad = abs(mean - theirs) > allowed
            if bad:
                outside.append(f"{case.name} {name}")
            print(f"| {case.name} | {name} | {mean:.3f} ± {err:.3f} | {theirs:.3f} ± {noise:.3f} | {mean / theirs if theirs else 0:.4f} | {100 * band:g} %{' **outside**' if bad else ''} |", flush=True)
    if outside:
        sys.exit("outside: " + ", ".join(outside))


if __name__ == "__main__":
    main()
