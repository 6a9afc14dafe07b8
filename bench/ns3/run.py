#!/usr/bin/env python3
"""Runs the cases of `cases.py` in ns-3 (PyPI wheel `ns3`, an external oracle) and stores what each flow got in results/ns3.csv.

    python3 -m venv ENV && ENV/bin/pip install ns3          # needs g++
    nice -n 15 ENV/bin/python bench/ns3/run.py [--only PART] [--seeds N] [--scale FACTOR] [--out FILE]

A line per flow: case, flow, mean Mb/s over the seeds (IP bytes for UDP, application bytes for TCP), standard error of the mean,
seeds, seconds, drops of its sender at the retry limit per second, failed MPDUs in per cent, simulated seconds per second of processor.
"""
import argparse, csv, datetime, os, platform, statistics, sys, time
sys.path.insert(0, os.path.dirname(__file__))
from cases import CASES, DEAF, NEAR, Tcp, Udp

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ["case", "flow", "mbps", "stderr", "seeds", "seconds", "retry_drops_per_s", "mpdu_loss_percent", "sim_s_per_s"]
PAYLOAD = 1472
TOS = {"vo": 0xc0, "vi": 0xb8, "be": 0x00, "bk": 0x28}      # the DSCPs that ns-3 maps to the four categories


def mode(standard, rate):
    """ns-3's name of a rate."""
    if isinstance(rate, int):
        return ("Erp" if standard == "11g" else "") + f"OfdmRate{rate}Mbps"
    return rate.replace("vht", "VhtMcs") if rate.startswith("vht") else rate.replace("ht", "HtMcs")


def control(standard):
    """What RTS frames go at."""
    return "ErpOfdmRate24Mbps" if standard == "11g" else "OfdmRate24Mbps"


def build(lab, case, seed):
    band = "BAND_2_4GHZ" if case.standard == "11g" else "BAND_5GHZ"
    lab.Start(seed, case.standard, case.width, band, case.streams, case.retry_limit, case.lifetime or 1000.0, case.tcp)
    if case.capture:
        lab.Capture()
    lab.DefaultLoss(NEAR)
    if case.circle:
        lab.Circle(sum(not r.ap for r in case.radios))
    index = {}
    for r in case.radios:
        rts = r.rts if r.rts is not None else case.rts
        rate = r.rate or case.rate
        ctl = "OfdmRate6Mbps" if rate in (6, "ht0") else control(case.standard)
        index[r.name] = lab.AddRadio(r.ap, r.bss, mode(case.standard, rate), ctl, 4692480 if rts is None else rts,
                                     case.short_slot, case.short_guard, case.ampdu, case.queue)
        if not case.txop:
            lab.NoTxop(index[r.name])
    for (a, b), db in case.losses.items():
        lab.Loss(index[a], index[b], db)
    cable = any(isinstance(f, Tcp) for f in case.flows)
    lab.Address(index["ap"] if cable else -1, 1000.0, case.cable_ms)
    for f in case.flows:
        if isinstance(f, Udp):
            lab.Udp(index[f.src], index[f.dst], PAYLOAD, int(1500 * 8e3 / f.mbps), TOS[f.ac], 1.3, 1e6)
        else:
            lab.Tcp(index[f.radio], f.up, 1.3)
    return index


def flow_name(f):
    if isinstance(f, Udp):
        return f"{f.src}>{f.dst}" + ("" if f.ac == "be" else f":{f.ac}")
    return f"{f.radio}>server" if f.up else f"server>{f.radio}"


def sender(f):
    return f.src if isinstance(f, Udp) else (f.radio if f.up else "ap")


def run_case(ropewalk, case, seeds, scale, trace=None):
    secs = case.seconds * scale
    warm = 8.0 if any(isinstance(f, Tcp) for f in case.flows) else 4.0
    got, drops, loss, cpu = [], [], [], []
    for seed in range(1, seeds + 1):
        lab = ropewalk.Lab()
        if trace:
            lab.Trace(trace)
        index = build(lab, case, seed)
        began = time.process_time()
        got.append(list(lab.Run(warm, secs, PAYLOAD)))
        if not lab.AllJoined():
            print(f"{case.name}, seed {seed}: a station had not joined when the flows began", flush=True)
        cpu.append((warm + secs) / max(1e-9, time.process_time() - began))
        drops.append([lab.RetryDrops(index[sender(f)]) / secs for f in case.flows])
        loss.append([100 * lab.Nacked(index[sender(f)]) / max(1.0, lab.Nacked(index[sender(f)]) + lab.Acked(index[sender(f)])) for f in case.flows])
    rows = []
    for i, f in enumerate(case.flows):
        v = [g[i] for g in got]
        err = statistics.stdev(v) / len(v) ** 0.5 if len(v) > 1 else 0.0
        rows.append([case.name, flow_name(f), f"{statistics.mean(v):.4f}", f"{err:.4f}", seeds, f"{secs:g}", f"{statistics.mean(d[i] for d in drops):.3f}",
                     f"{statistics.mean(x[i] for x in loss):.3f}", f"{statistics.mean(cpu):.2f}"])
    total = [sum(g) for g in got]
    err = statistics.stdev(total) / len(total) ** 0.5 if len(total) > 1 else 0.0
    rows.append([case.name, "total", f"{statistics.mean(total):.4f}", f"{err:.4f}", seeds, f"{secs:g}", f"{sum(float(r[6]) for r in rows):.3f}", "",
                 f"{statistics.mean(cpu):.2f}"])
    return rows


def load(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [row for row in csv.reader(line for line in f if not line.startswith("#")) if row and row[0] != "case"]


def store(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    order = {c.name: i for i, c in enumerate(CASES)}
    rows.sort(key=lambda r: order.get(r[0], 999))
    with open(path, "w", newline="") as f:
        f.write("# ns-3 3.44 (PyPI wheel ns3 3.44.post0), NIST error model, YANS channel, bench/ns3/run.py\n")
        f.write(f"# {os.cpu_count()} cores, {cpu_name()}, {platform.system()} {platform.release()}, {datetime.date.today()}\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(FIELDS)
        w.writerows(rows)


def cpu_name():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def load_lab():
    """The classes of lab.cc."""
    from ns import ns  # noqa: F401  loads the libraries of ns-3 into cppyy
    import cppyy
    with open(os.path.join(HERE, "lab.cc")) as f:
        if not cppyy.cppdef(f.read()):
            sys.exit("lab.cc does not compile with this version of ns-3")
    return cppyy.gbl.ropewalk


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", action="append", help="run the cases whose name contains this")
    p.add_argument("--seeds", type=int)
    p.add_argument("--scale", type=float, default=1.0, help="factor on the measured seconds")
    p.add_argument("--out", default=os.path.join(HERE, "results", "ns3.csv"))
    p.add_argument("--missing", action="store_true", help="only cases that have no result yet")
    p.add_argument("--trace", metavar="FILE", help="write each transmission of the last run to this file, for gaps.py")
    a = p.parse_args()
    ropewalk = load_lab()
    for case in CASES:
        if a.only and not any(o in case.name for o in a.only):
            continue
        if a.missing and any(r[0] == case.name for r in load(a.out)):
            continue
        began = time.monotonic()
        new = run_case(ropewalk, case, a.seeds or case.seeds, a.scale, a.trace)
        store(a.out, [r for r in load(a.out) if r[0] != case.name] + new)
        print(f"{case.name} ({time.monotonic() - began:.1f} s)", flush=True)
        for r in new:
            print(f"    {r[1]:16s} {float(r[2]):9.4f} ± {float(r[3]):.4f}  {100 * float(r[3]) / max(1e-9, float(r[2])):.2f} %  drops {r[6]}/s  failed {r[7]} %", flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)     # cppyy's own clean-up of ns-3's statics fails after all is done
