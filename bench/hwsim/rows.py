#!/usr/bin/env python3
"""What the kernel's Wi-Fi carries over our air: `ropewalk lab hwsim` in the virtual machine of tests/vm/run, in virtual time.
Rows whose names end in -lab are `ropewalk lab run`: the same kernel's TCP over the air's own MAC.

    bench/hwsim/rows.py [ROW…]     # -> docs/models/hwsim-kernel.csv, whose other rows are kept; `./run hwsim` does it

`./run models` puts the simulator's figures beside them, into docs/models/hwsim.md.
"""
import argparse, base64, csv, datetime, gzip, json, os, re, shutil, subprocess, sys, tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bench", "ns3"))
from cases import loss_for_snr  # noqa: E402

SCENARIOS = os.path.join(ROOT, "scenarios", "validation", "hwsim")
STORED = os.path.join(ROOT, "docs", "models", "hwsim-kernel.csv")
# mbps is goodput: IP bytes of UDP, as in bench/ns3/results/ns3.csv, and the application's of TCP.
COLUMNS = ["row", "command", "scenario", "changes", "mbps", "rate_mbps", "attempts", "sent_packets", "gap_ms", "late_p99_us", "valid",
           "kernel", "build", "date"]
UDP_IP = 1500 / 1472
ACCESS_POINT = "ap:wlan0"
# The kernel alone, over the module's own medium.
NULL = "null"


@dataclass
class Row:
    name: str
    scenario: str
    changes: dict
    command: str = "hwsim"


def up(stations, offered):
    return Row(f"udp-{stations}", "up.toml", {"node.sta.count": stations, "flow.up.rate": f"{offered}Mbit/s"})


def down(stations, command):
    changes = {"node.sta.count": stations}
    if command == "hwsim":
        return Row(f"tcp-{stations}", "down.toml", changes)
    # The kernel's frames wait in the medium's one queue of 64, so the air's do.
    queue = {"kind": "fifo", "packets": 64, "total": 64}
    return Row(f"tcp-{stations}-lab", "down.toml", changes | {f"node.*.radio.r.queue.{key}": v for key, v in queue.items()}, command)


def at_snr(snr, offered):
    return Row(f"snr-{snr}", "up.toml", {"node.sta.count": 1, "flow.up.rate": f"{offered}Mbit/s", "duration": "10s", "warmup": "2s",
                                         "medium.path-loss.reference-loss": f"{loss_for_snr(snr):.3f}dB"})


# What is offered is a little more than the best rate carries: the rest would only cost time.
SNRS = [(6, 6), (8, 10), (10, 14.5), (12, 15.5), (14, 19), (16, 22), (18, 25), (20, 27), (22, 30), (24, 31), (26, 31)]
ROWS = {row.name: row for row in [
    *(up(*of) for of in [(1, 31), (2, 16), (3, 11), (5, 6.5)]),
    *(down(*of) for of in [(1, "hwsim"), (3, "hwsim"), (1, "run"), (3, "run")]),
    *(at_snr(*of) for of in SNRS),
    Row("roam", "roam.toml", {}),
]}


def figures(row, report):
    """Of all flows: goodput, packets sent, longest gap; of frames on their way: mean rate and tries."""
    way = [s for s in report["station"] if s["to" if row.scenario == "up.toml" else "from"] == ACCESS_POINT and s["to"] != "*"]
    delivered = max(sum(s["delivered"] for s in way), 1)
    flows = report["flow"]
    # What never arrives has no gap, and no figure of one.
    gaps = [f["gap_ms"] for f in flows]
    scale = UDP_IP if flows[0]["kind"] == "udp" else 1
    return {"mbps": scale * sum(f["goodput_mbps"] for f in flows),
            "rate_mbps": sum((s["rate_mbps"] or 0) * s["delivered"] for s in way) / delivered,
            "attempts": sum(s["attempts"] * s["delivered"] for s in way) / delivered,
            "sent_packets": sum(f["sent_packets"] for f in flows), "gap_ms": max(gaps) if None not in gaps else None}


def load():
    if not os.path.exists(STORED):
        return {}
    with open(STORED) as f:
        return {r["row"]: r for r in csv.DictReader(line for line in f if not line.startswith("#"))}


def store(rows):
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    with open(STORED + ".new", "w") as f:
        f.write("# Written by bench/hwsim/rows.py: `ropewalk lab hwsim` in QEMU, one processor of 1 GHz, an instruction a nanosecond.\n")
        f.write(f"# Last on {os.cpu_count()} cores, {processor}\n")
        out = csv.DictWriter(f, COLUMNS, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(rows[name] for name in [*ROWS, NULL] if name in rows)
    os.rename(STORED + ".new", STORED)


def boot(a, rows, null):
    """What the virtual machine prints, line by line."""
    with tempfile.TemporaryDirectory() as directory:
        for file in os.listdir(SCENARIOS):
            shutil.copy(os.path.join(SCENARIOS, file), directory)
        with open(os.path.join(directory, "list"), "w") as f:
            f.writelines(f"{row.name} {row.command} {row.scenario} {settings(row)}\n" for row in rows)
        with open(os.path.join(directory, "options"), "w") as f:
            f.write("null\n" if null else "\n")
        env = dict(os.environ, ROWS=directory, VM_ONLY="rows", VM_SEED=str(a.seed), VM_SHIFT=str(a.shift))
        run = os.path.join(ROOT, "tests", "vm", "run")
        machine = subprocess.Popen([run, a.binary], env=env, stdout=subprocess.PIPE, text=True, errors="replace")
        yield from (line.rstrip("\n") for line in machine.stdout)
        if machine.wait() != 0:
            sys.exit("the virtual machine's checks failed")


def settings(row):
    return " ".join(f"{key}={value}" for key, value in row.changes.items())


def provenance():
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    images = os.listdir(os.path.join(os.environ.get("VM_ROOT") or os.path.join(ROOT, "target", "vm"), "boot"))
    # As tests/vm/modules chooses it.
    newest = max((re.findall(r"\d+", name), name) for name in images if name.startswith("vmlinuz-"))[1]
    version = re.search(r"version (\S+)", said("qemu-system-x86_64", "--version"))
    return {"kernel": f"Linux {newest.removeprefix('vmlinuz-')} in QEMU {version[1] if version else '?'}",
            "build": said("git", "-C", ROOT, "rev-parse", "--short", "HEAD"), "date": datetime.date.today().isoformat()}


def row_of(row, report, made):
    lab = report["provenance"]["lab"]
    numbers = {key: f"{value:.5g}" if isinstance(value, float) else value for key, value in figures(row, report).items()}
    return {"row": row.name, "command": row.command, "scenario": row.scenario, "changes": settings(row), **numbers, "late_p99_us": f"{lab['late_us'][1]:.1f}",
            "valid": "no" if lab["invalid"] else "yes", **made, "build": report["provenance"]["version"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", nargs="*", metavar="ROW")
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "ropewalk"))
    p.add_argument("--seed", type=int, default=1, help="of the virtual machine's randomness")
    p.add_argument("--shift", type=int, default=0, help="an instruction takes 2^SHIFT ns: a slower machine, whose figures are not stored")
    p.add_argument("--out", help="where whole reports go")
    p.add_argument("--verbose", action="store_true", help="everything that the virtual machine prints")
    a = p.parse_args()
    names = a.rows or [*ROWS, NULL]
    if unknown := [n for n in names if n not in ROWS and n != NULL]:
        sys.exit(f"there is no row {unknown[0]}: {', '.join([*ROWS, NULL])} are")
    rows, made, name, packed, missing = load(), provenance(), None, [], set(names)
    for line in boot(a, [ROWS[n] for n in names if n in ROWS], NULL in names):
        if begun := re.fullmatch(r"row: begin (\S+)", line):
            name, packed = begun[1], []
        elif line.startswith("row: end") and name:
            report = json.loads(gzip.decompress(base64.b64decode("".join(packed))))
            if a.out:
                os.makedirs(a.out, exist_ok=True)
                with open(os.path.join(a.out, f"{name}.json"), "w") as f:
                    json.dump(report, f, indent=1)
            if unjoined := report.get("unjoined"):
                print(f"{name}: no figure, with no access point: {', '.join(unjoined)}", flush=True)
            else:
                rows[name] = row_of(ROWS[name], report, made)
                missing.discard(name)
                if not a.shift:
                    store(rows)
                print(f"{name}: {rows[name]['mbps']} Mb/s at {rows[name]['rate_mbps']}, valid: {rows[name]['valid']}", flush=True)
            name = None
        elif null := re.fullmatch(r"row: null (\d+) bit/s", line):
            missing.discard(NULL)
            rows[NULL] = {"row": NULL, "mbps": f"{int(null[1]) / 1e6:.5g}", **made}
            if not a.shift:
                store(rows)
            print(line, flush=True)
        elif name:
            packed.append(line)
        elif line.startswith(("vm:", "qemu")) or a.verbose:
            print(line, flush=True)
    if missing:
        sys.exit(f"no figures of {', '.join(sorted(missing))}: what {STORED} has of them, if anything, is older")


if __name__ == "__main__":
    main()
