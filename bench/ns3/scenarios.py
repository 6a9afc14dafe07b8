#!/usr/bin/env python3
"""Writes the cases of `cases.py` as scenario files, scenarios/validation/NAME.toml and scenarios/bench/NAME.toml, for `ropewalk sim run`.

    python3 bench/ns3/scenarios.py            # writes them
    python3 bench/ns3/scenarios.py --check    # fails if one is not as it would be written
"""
import os, sys
from math import cos, pi, sin
sys.path.insert(0, os.path.dirname(__file__))
from cases import BENCH, CASES, NEAR, Tcp, Udp

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.normpath(os.path.join(HERE, "..", "..", "scenarios"))
CATEGORY = {"vo": "voice", "vi": "video", "be": "best-effort", "bk": "background"}
TCP_WARM, UDP_WARM = 8, 4


def fixed(rate):
    if isinstance(rate, int):
        return f"{rate}Mbit/s"
    n = int(rate.removeprefix("vht").removeprefix("ht"))
    return f"MCS{n % 8 if rate.startswith('ht') else n}"


def radio(case, r):
    """The keys of a radio, in order."""
    rts = r.rts if r.rts is not None else case.rts
    keys = [f'standard = "{case.standard}"', f"channel = {1 if case.standard == '11g' else 36}"]
    if case.width != 20:
        keys.append(f"width = {case.width}")
    if case.circle:
        keys += ['preamble-detection = "-101dBm"', 'preamble-sinr = "-100dB"']
    if not case.short_slot:
        keys.append('slot = "long"')
    if case.streams != 1:
        keys.append(f"streams = {case.streams}")
    if case.short_guard:
        keys.append('guard-interval = "short"')
    if case.standard in ("11n", "11ac") and case.ampdu == 0:
        keys.append('aggregation.ampdu = "0B"')
    keys.append(f'rate-control = {{ fixed = "{fixed(r.rate or case.rate)}" }}')
    if rts is not None:
        keys.append(f'rts-threshold = "{rts}B"')
    if case.retry_limit != 7:
        keys.append(f"retry-limit = {case.retry_limit}")
    lifetime = f', lifetime = "{case.lifetime * 1000:g}ms"' if case.lifetime else ""
    # ns-3 has one queue for all receivers of a sender. Saturating UDP fills any; of TCP it decides the round trip.
    total = f", total = {case.queue}" if r.ap and any(isinstance(f, Tcp) for f in case.flows) else ""
    kind = ', kind = "fifo"' if case.fifo and r.ap else ""
    keys.append(f"queue = {{ packets = {case.queue}{total}{kind}{lifetime} }}")
    if not case.txop:
        keys += [f'edca.{c} = {{ txop = "0s" }}' for c in ("video", "voice")]
    return keys


def interface(r):
    mode = "ap" if r.ap else "station"
    beacons = '\nbeacon-interval = "0s"' if r.ap else ""
    return f'radio = "r"\nmode = "{mode}"\nssid = "{r.bss}"{beacons}'


def nodes(case):
    """One table for each access point, and one with a count for stations that are alike."""
    stations = [r for r in case.radios if not r.ap]
    alike = [r.name for r in stations] == [f"sta{i}" for i in range(1, len(stations) + 1)] and len({(str(r.rate), r.rts, r.bss) for r in stations}) == 1
    out, count = [], len(stations)
    for i, r in enumerate(case.radios, -1):
        if alike and not case.circle and not r.ap and r.name != "sta1":
            continue
        together = alike and not r.ap and len(stations) > 1 and not case.circle
        name = "sta" if together else r.name
        place = f"position = [{cos(2 * pi * i / count):.9f}, {sin(2 * pi * i / count):.9f}]\n" if case.circle and not r.ap else ""
        head = f"[node.{name}]\n" + place + (f"count = {len(stations)}\n" if together else "") + ("forward = true\n" if r.ap and any(isinstance(f, Tcp) for f in case.flows) else "")
        out.append(head + f"[node.{name}.radio.r]\n" + "\n".join(radio(case, r)) + f"\n[node.{name}.interface.wlan0]\n" + interface(r) + "\n")
    return out, alike and len(stations) > 1


def flows(case, alike):
    out = []
    ups = [f for f in case.flows if isinstance(f, Udp)]
    if alike and len(ups) == len(case.flows) and len({(f.dst, f.mbps, f.ac) for f in ups}) == 1:
        f = ups[0]
        return [f'[[flow]]\nname = "up"\nkind = "udp"\nfrom = "sta*"\nto = "{f.dst}"\nrate = "{f.mbps:.6g}Mbit/s"\n']
    for f in case.flows:
        if isinstance(f, Udp):
            name = f"{f.src}-{f.dst}" + ("" if f.ac == "be" else f"-{f.ac}")
            category = "" if f.ac == "be" else f'category = "{CATEGORY[f.ac]}"\n'
            out.append(f'[[flow]]\nname = "{name}"\nkind = "udp"\nfrom = "{f.src}"\nto = "{f.dst}"\nrate = "{f.mbps:.6g}Mbit/s"\n{category}')
        else:
            a, b = (f.radio, "server") if f.up else ("server", f.radio)
            cc = "newreno" if case.tcp == "reno" else "cubic"
            out.append(f'[[flow]]\nname = "{a}-{b}"\nkind = "tcp"\nfrom = "{a}"\nto = "{b}"\ncongestion = "{cc}"\nreceive-buffer = "8MiB"\n')
    return out


def flow_names(case):
    """The name in our results of each flow of the case, in its order."""
    _, alike = nodes(case)
    written = flows(case, alike)
    if len(written) == 1 and len(case.flows) > 1:
        return [f"up-{f.src}" for f in case.flows]
    return [text.split('name = "')[1].split('"')[0] for text in written]


def scenario(case):
    cable = any(isinstance(f, Tcp) for f in case.flows)
    warm = TCP_WARM if cable else UDP_WARM
    text = ["# Written by bench/ns3/scenarios.py: the case of the same name in bench/ns3/cases.py, held against ns-3.\n"
            f'title = "{case.about}"\nduration = "{warm + case.seconds:g}s"\nwarmup = "{warm}s"\n'
            + (f"\n[medium.path-loss]\nexponent = 2.0\nreference-loss = \"46.6777dB\"\n" if case.circle else
               f"\n# Every pair at the same loss, but for those below.\n[medium.path-loss]\nexponent = 0.0\nreference-loss = \"{NEAR:g}dB\"\n")]
    if not case.capture:
        text.append("[medium.capture]\nenabled = false\n")
    text += [f'[[medium.loss]]\nbetween = ["{a}", "{b}"]\nloss = "{db:.4f}dB"\n' for (a, b), db in case.losses.items() if db != NEAR]
    tables, alike = nodes(case)
    text += tables
    if cable:
        text.append(f'[node.server]\n[[link]]\nends = ["server:eth0", "ap:eth0"]\nrate = "1Gbit/s"\ndelay = "{case.cable_ms:g}ms"\nqueue.limit = 100000\n')
    text += flows(case, alike)
    return "\n".join(text)


def dense():
    """Fifty access points in three rows, a channel to a row, with four stations each; a server behind them."""
    text = ["# Written by bench/ns3/scenarios.py.\n"
            'title = "50 access points and 200 stations on three channels"\nduration = "10s"\nwarmup = "1s"\n']
    keys = 'rate-control = "ideal"\nqueue = { packets = 100 }\n'
    for row, (channel, count) in enumerate(((36, 17), (40, 17), (44, 16))):
        name = "abc"[row]
        radio = f'standard = "11n"\nchannel = {channel}\n{keys}'
        text.append(f'[node.{name}]\ncount = {count}\nposition = [0, {12 * row}]\nstep = [12, 0]\nforward = true\n'
                    f'[node.{name}.radio.r]\n{radio}[node.{name}.interface.wlan0]\nradio = "r"\nmode = "ap"\nssid = "{name}{{n}}"\n')
        for i, (x, y) in enumerate(((4, 0), (-4, 0), (0, 4), (0, -4)), 1):
            text.append(f'[node.s{name}{i}-]\ncount = {count}\nposition = [{x}, {12 * row + y}]\nstep = [12, 0]\n'
                        f'[node.s{name}{i}-.radio.r]\n{radio}[node.s{name}{i}-.interface.wlan0]\nradio = "r"\nmode = "station"\nssid = "{name}{{n}}"\n')
        text += [f'[[link]]\nends = ["server:{name}{n}", "{name}{n}:eth0"]\nrate = "1Gbit/s"\ndelay = "1ms"\n' for n in range(1, count + 1)]
    text.append('[node.server]\n\n[[flow]]\nname = "down"\nkind = "udp"\nfrom = "server"\nto = "s*-*"\nrate = "2Mbit/s"\n'
                '\n[[flow]]\nname = "up"\nkind = "udp"\nfrom = "s*-*"\nto = "server"\nrate = "500kbit/s"\n')
    return "\n".join(text)


def main():
    stale = []
    files = [("validation", c.name, scenario(c)) for c in CASES] + [("bench", c.name, scenario(c)) for c in BENCH] + [("bench", "dense", dense())]
    for folder, name, text in files:
        path = os.path.join(OUT, folder, name + ".toml")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        old = open(path).read() if os.path.exists(path) else None
        if old != text:
            stale.append(name)
            if "--check" not in sys.argv:
                with open(path, "w") as f:
                    f.write(text)
    if "--check" in sys.argv and stale:
        sys.exit(f"scenarios.py: not as written: {', '.join(stale)}; run bench/ns3/scenarios.py")


if __name__ == "__main__":
    main()
