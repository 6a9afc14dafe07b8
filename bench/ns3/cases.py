"""The networks in which our model and ns-3 are held side by side, in terms of neither.

`run.py` builds them in ns-3, `scenarios.py` writes them as scenario files for `ropewalk sim run` (scenarios/validation/*.toml).
Losses are in dB between antennas, so no propagation model enters; radios send at 16 dBm with a noise figure of 7 dB.
"""
from dataclasses import dataclass, field

TX_DBM, NOISE_FIGURE_DB = 16.0, 7.0
NEAR = 50.0      # dB: −34 dBm, no errors at any rate
DEAF = 200.0     # dB: neither heard nor felt


def noise_dbm(width_mhz):
    """Thermal noise at 290 K in the width, and the noise figure."""
    from math import log10
    return 10 * log10(1.380649e-23 * 290 * width_mhz * 1e6 * 1e3) + NOISE_FIGURE_DB


def loss_for_snr(snr_db, width_mhz=20):
    return TX_DBM - noise_dbm(width_mhz) - snr_db


@dataclass
class Radio:
    name: str
    ap: bool = False
    bss: str = "lab"
    rate: object = None         # overrides the case's rate for what this radio sends
    rts: int = None             # overrides the case's RTS threshold (bytes)


@dataclass
class Udp:
    """Constant UDP, saturating where it is more than the channel carries: IP packets of 1500 B. The flows of one sender differ a little in rate,
    lest a full queue always turns away the same one."""
    src: str
    dst: str
    mbps: float
    ac: str = "be"


@dataclass
class Tcp:
    """Bulk TCP between a radio's node and the server behind the access point."""
    radio: str
    up: bool


@dataclass
class Case:
    name: str
    about: str
    standard: str               # 11a, 11g, 11n, 11ac
    rate: object                # 54 (Mb/s), "ht7", "vht9"
    radios: list
    flows: list
    width: int = 20
    streams: int = 1
    short_guard: bool = False
    short_slot: bool = True
    ampdu: int = 0              # bytes; 0 is none
    rts: int = None             # RTS threshold in bytes, None for never
    retry_limit: int = 7
    queue: int = 500            # packets
    fifo: bool = False          # the scenario has ns-3's queue: one line per category, for all receivers of a sender
    lifetime: float = None      # seconds that a packet may wait, None for ever; ns-3's own default is 0.5
    circle: bool = False        # the oracle's cell: stations on a circle of a metre, every preamble noticed
    capture: bool = False       # ns-3's SimpleFrameCaptureModel (5 dB, 16 µs)
    losses: dict = field(default_factory=dict)   # (a, b) -> dB, both ways; else NEAR
    txop: bool = True           # the default TXOP limits of VI and VO
    tcp: str = "reno"
    cable_ms: float = 10.0      # one way, server to access point; 1 Gb/s
    seconds: float = 20.0
    seeds: int = 3
    band: float = 2.0           # per cent that our total may be off ns-3's
    station_band: float = 4.0   # per cent of the mean share that a station may be off


def bss(n, ap="ap", name="lab", prefix="sta", **kw):
    return [Radio(ap, ap=True, bss=name)] + [Radio(f"{prefix}{i}", bss=name, **kw) for i in range(1, n + 1)]


def uplink(radios, total, ap="ap", ac="be"):
    stations = [r for r in radios if not r.ap]
    return [Udp(r.name, ap, total / len(stations), ac) for r in stations]


def downlink(radios, total, ap="ap", ac="be"):
    stations = [r for r in radios if not r.ap]
    return [Udp(ap, r.name, total / len(stations) * (1 + 0.004 * i), ac) for i, r in enumerate(stations)]


HT_MAX, VHT_MAX = 65535, 1048575
CASES = []


def case(name, about, standard, rate, radios, flows, **kw):
    CASES.append(Case(name, about, standard, rate, radios, flows, **kw))


# --- hidden stations ---
for label, rts in (("", None), ("-rts", 0)):
    hidden = {("sta1", "sta2"): DEAF}
    r = bss(2)
    case(f"hidden-54{label}", "two saturated stations that do not hear one another", "11a", 54, r, uplink(r, 60), losses=hidden, rts=rts, seconds=30)
    case(f"hidden-6{label}", "the same with frames eight times as long", "11a", 6, r, uplink(r, 12), losses=hidden, rts=rts, seconds=120)
    r = bss(3)
    case(f"hidden-one-of-three{label}", "stations 1 and 2 hear one another, neither hears 3", "11a", 54, r, uplink(r, 60),
         losses={("sta1", "sta3"): DEAF, ("sta2", "sta3"): DEAF}, rts=rts, seconds=40, station_band=8)
    r = bss(2)
    case(f"hidden-ampdu{label}", "two hidden stations with aggregation", "11n", "ht7", r, uplink(r, 140), losses=hidden, ampdu=HT_MAX, rts=rts,
         seconds=60, band=3, station_band=8)

# --- packets that grow too old between two attempts, as with ns-3's own settings ---
r = bss(2)
case("hidden-6-lifetime", "hidden stations whose packets expire after 500 ms", "11a", 6, r, uplink(r, 12), losses={("sta1", "sta2"): DEAF}, lifetime=0.5, seconds=120)
r = bss(10)
case("lifetime-6-n10", "ten stations at 6 Mb/s whose packets expire after 500 ms", "11a", 6, r, uplink(r, 10), lifetime=0.5, seconds=60, station_band=15)

# --- one slow station among fast ones ---
r = bss(2); r[2].rate = 6
case("anomaly-2", "a 54 Mb/s and a 6 Mb/s station", "11a", 54, r, uplink(r, 60), seconds=60)
r = bss(5); r[5].rate = 6
case("anomaly-5", "four 54 Mb/s stations and one of 6 Mb/s", "11a", 54, r, uplink(r, 60), seconds=60)
r = bss(3); r[3].rate = "ht0"
case("anomaly-ampdu", "two MCS 7 stations and one of MCS 0, aggregation", "11n", "ht7", r, uplink(r, 120), ampdu=HT_MAX, seconds=90, band=3, station_band=6)

# --- widths and streams ---
for name, std, rate, width, streams, sgi, offered in (
        ("ht40", "11n", "ht7", 40, 1, False, 240), ("ht40-2ss-sgi", "11n", "ht15", 40, 2, True, 480), ("ht20-2ss", "11n", "ht15", 20, 2, False, 240),
        ("vht20", "11ac", "vht8", 20, 1, False, 130), ("vht40", "11ac", "vht9", 40, 1, True, 320), ("vht80", "11ac", "vht9", 80, 1, False, 640),
        ("vht80-2ss-sgi", "11ac", "vht9", 80, 2, True, 1000)):
    r = bss(3)
    case(f"{name}-n3", f"three saturated stations, {width} MHz, {streams} spatial stream(s)", std, rate, r, uplink(r, offered), width=width, streams=streams,
         short_guard=sgi, ampdu=HT_MAX if std == "11n" else VHT_MAX, seconds=20 if width < 80 else 10, band=3, station_band=6)

# --- aggregation: contention, losses, RTS ---
r = bss(5)
case("ampdu-n5", "five saturated stations with A-MPDU", "11n", "ht7", r, uplink(r, 100), ampdu=HT_MAX, seconds=80, band=3, station_band=8)
r = bss(3)
case("ampdu-rts-n3", "three stations, each A-MPDU behind RTS/CTS", "11n", "ht7", r, uplink(r, 110), ampdu=HT_MAX, rts=0, seconds=40, band=3, station_band=6)
# The cells of shared/oracle/ns3_dcf.py again, with eight times its seeds: there three runs of 10 s differ by 2 %, and packets expire after 500 ms, as
# ns-3 has it by default. A station offers 1.5 times its share of 80 Mb/s of payload.
for n, life in ((5, 0.5), (10, 0.5), (10, None)):
    r = bss(n)
    case(f"oracle-ampdu-n{n}" + ("" if life else "-no-lifetime"), f"the oracle's cell of {n} stations with A-MPDU" + ("" if life else ", where nothing expires"),
         "11n", "ht7", r, uplink(r, 80 * 1.5 * 1500 / 1472), ampdu=HT_MAX, lifetime=life, circle=True, seconds=10, seeds=24, band=3, station_band=15)
r = bss(10)
case("ampdu-n10", "ten saturated stations with A-MPDU", "11n", "ht7", r, uplink(r, 122), ampdu=HT_MAX, seconds=30, seeds=6, band=3, station_band=15)
for snr in (22.8, 23.0, 23.2, 23.5, 24.0, 25.0):
    r = bss(1)
    case(f"ampdu-snr-{snr:.1f}", f"one sender at {snr} dB, MCS 7", "11n", "ht7", r, uplink(r, 80), ampdu=HT_MAX,
         losses={("ap", "sta1"): loss_for_snr(snr)}, seconds=20, band=3, station_band=3)
r = bss(1)
case("ampdu-vht80-snr-29.5", "one sender at 29.5 dB, VHT80 MCS 9", "11ac", "vht9", r, uplink(r, 450), width=80, ampdu=VHT_MAX,
     losses={("ap", "sta1"): loss_for_snr(29.5, 80)}, seconds=8, band=3, station_band=3)
r = bss(3)
case("ampdu-lossy-n3", "three stations at 23.5 dB", "11n", "ht7", r, uplink(r, 120), ampdu=HT_MAX,
     losses={("ap", f"sta{i}"): loss_for_snr(23.5) for i in (1, 2, 3)}, seconds=40, band=3, station_band=6)

# --- downlink ---
r = bss(5)
case("down-54-n5", "an access point to five stations", "11a", 54, r, downlink(r, 45), seconds=20)
case("down-ampdu-n5", "the same with aggregation", "11n", "ht7", r, downlink(r, 80), ampdu=HT_MAX, seconds=20, band=3)
r = bss(3)
case("up-down-54-n3", "an access point sends to three stations that send to it", "11a", 54, r, uplink(r, 50) + downlink(r, 45), seconds=60)

# --- access categories ---
r = bss(4)
case("edca-four-stations", "a station each of VO, VI, BE and BK, with their TXOP limits", "11n", "ht7", r,
     [Udp(f"sta{i}", "ap", mbps, ac) for i, (ac, mbps) in enumerate((("vo", 35), ("vi", 35), ("be", 20), ("bk", 10)), 1)], seconds=40, station_band=8)
case("edca-no-txop", "the same without TXOP limits", "11n", "ht7", r,
     [Udp(f"sta{i}", "ap", mbps, ac) for i, (ac, mbps) in enumerate((("vo", 35), ("vi", 25), ("be", 15), ("bk", 10)), 1)], txop=False, seconds=40, station_band=8)
case("edca-be-bk", "two BE and two BK stations", "11n", "ht7", r,
     [Udp(f"sta{i}", "ap", 25, ac) for i, ac in enumerate(("be", "be", "bk", "bk"), 1)], seconds=40, station_band=6)
r = bss(1)
case("edca-internal", "one station with all four categories, no TXOP limits", "11n", "ht7", r,
     [Udp("sta1", "ap", 50 + 0.2 * i, ac) for i, ac in enumerate(("vo", "vi", "be", "bk"))], txop=False, seconds=40, station_band=8)

# --- two cells ---
two = [Radio("ap1", ap=True, bss="one"), Radio("a1", bss="one"), Radio("ap2", ap=True, bss="two"), Radio("b1", bss="two")]
case("exposed-54", "two senders that hear one another, receivers that hear only their own sender", "11a", 54, two,
     [Udp("a1", "ap1", 40), Udp("b1", "ap2", 40)], losses={("ap1", "b1"): DEAF, ("ap2", "a1"): DEAF, ("ap1", "ap2"): DEAF}, seconds=30)
case("two-cells-54", "two cells on one channel, all in range, downlink", "11a", 54, two, [Udp("ap1", "a1", 40), Udp("ap2", "b1", 40)], seconds=30)
case("two-cells-mixed", "downlink in one cell, uplink in the other, with aggregation", "11n", "ht7", two,
     [Udp("ap1", "a1", 80), Udp("b1", "ap2", 80)], ampdu=HT_MAX, seconds=60, band=3, station_band=6)
case("hidden-cells-54", "two access points that do not hear one another; station a1 hears both, the second sends 8 Mb/s", "11a", 54, two,
     [Udp("ap1", "a1", 40), Udp("ap2", "b1", 8)], losses={("ap1", "ap2"): DEAF, ("ap1", "b1"): DEAF, ("a1", "b1"): DEAF, ("ap2", "a1"): NEAR}, seconds=60,
     station_band=6)

# --- capture ---
r = bss(2)
case("capture-in-range", "station 1 is 25 dB louder at the access point; both hear one another", "11a", 6, r, uplink(r, 12), capture=True,
     losses={("ap", "sta1"): 50, ("ap", "sta2"): 75}, seconds=120, station_band=5)
case("capture-hidden", "the same, hidden from one another", "11a", 6, r, uplink(r, 12), capture=True,
     losses={("ap", "sta1"): 50, ("ap", "sta2"): 75, ("sta1", "sta2"): DEAF}, seconds=120, station_band=8)
case("capture-hidden-54", "the same at 54 Mb/s: the far frame needs 22 dB", "11a", 54, r, uplink(r, 60), capture=True,
     losses={("ap", "sta1"): 50, ("ap", "sta2"): 80, ("sta1", "sta2"): DEAF}, seconds=40, station_band=8)

# --- 2.4 GHz slots, retry limits, crowd ---
for label, short in (("short", True), ("long", False)):
    r = bss(5)
    case(f"g-{label}-slot-n5", f"802.11g, {label} slot", "11g", 54, r, uplink(r, 45), short_slot=short, seconds=20)
for snr, limit in ((22.0, 7), (22.0, 4), (21.8, 7)):
    r = bss(1)
    case(f"retry-{limit}-snr-{snr:.1f}", f"one sender at {snr} dB, 54 Mb/s, at most {limit} attempts", "11a", 54, r, uplink(r, 45), retry_limit=limit,
         losses={("ap", "sta1"): loss_for_snr(snr)}, seconds=30)
r = bss(20)
case("crowd-54-n20", "twenty saturated stations", "11a", 54, r, uplink(r, 50), seconds=20, station_band=15)
r = bss(5)
case("half-load-54-n5", "five stations offering 60 % of the channel: nothing is lost", "11a", 54, r, uplink(r, 18), seconds=20, station_band=2)

# --- TCP ---
for cc in ("reno", "cubic"):
    r = bss(1)
    case(f"tcp-down-54-{cc}", f"one {cc} flow from a server 10 ms behind the access point", "11a", 54, r, [Tcp("sta1", False)], tcp=cc, seconds=20)
    case(f"tcp-up-54-{cc}", f"one {cc} flow to the server", "11a", 54, r, [Tcp("sta1", True)], tcp=cc, seconds=20)
r = bss(3)
case("tcp-down-54-n3", "three CUBIC flows down, one to a station", "11a", 54, r, [Tcp(f"sta{i}", False) for i in (1, 2, 3)], tcp="cubic", seconds=40, station_band=20)
case("tcp-up-54-n3", "three CUBIC flows up", "11a", 54, r, [Tcp(f"sta{i}", True) for i in (1, 2, 3)], tcp="cubic", seconds=40, station_band=20)
r = bss(1)
case("tcp-down-ampdu", "one CUBIC flow down with aggregation", "11n", "ht7", r, [Tcp("sta1", False)], tcp="cubic", ampdu=HT_MAX, seconds=30, band=3)
case("tcp-up-ampdu", "one CUBIC flow up with aggregation", "11n", "ht7", r, [Tcp("sta1", True)], tcp="cubic", ampdu=HT_MAX, seconds=30, band=3)
r = bss(2)
case("tcp-up-down-ampdu", "one flow each way with aggregation", "11n", "ht7", r, [Tcp("sta1", False), Tcp("sta2", True)], tcp="cubic", ampdu=HT_MAX, seconds=60,
     band=3, station_band=20)
for n in (2, 3, 5):
    r = bss(n)
    case(f"tcp-down-ampdu-n{n}", f"{n} CUBIC flows down with aggregation, one to a station", "11n", "ht7", r, [Tcp(f"sta{i}", False) for i in range(1, n + 1)],
         tcp="cubic", ampdu=HT_MAX, fifo=True, seconds=30, band=3, station_band=20)
r = bss(3)
case("tcp-up-ampdu-n3", "three CUBIC flows up with aggregation", "11n", "ht7", r, [Tcp(f"sta{i}", True) for i in (1, 2, 3)], tcp="cubic", ampdu=HT_MAX, fifo=True,
     seconds=30, band=3, station_band=20)

# --- wide and many; categories with aggregates ---
r = bss(8)
case("vht80-n8", "eight saturated stations, 80 MHz", "11ac", "vht9", r, uplink(r, 640), width=80, ampdu=VHT_MAX, seconds=10, band=3, station_band=15)
r = bss(4)
case("edca-ampdu", "a station each of VO, VI, BE and BK, with their TXOP limits and A-MPDU", "11n", "ht7", r,
     [Udp(f"sta{i}", "ap", 80, ac) for i, ac in enumerate(("vo", "vi", "be", "bk"), 1)], ampdu=HT_MAX, seconds=40, band=3, station_band=10)

# --- speed: `./run bench sim` runs these in both (scenarios/bench) ---
BENCH = []
r = bss(10)
BENCH.append(Case("11a-54-n10", "ten saturated stations, 802.11a at 54 Mb/s", "11a", 54, r, uplink(r, 45), seconds=20, seeds=1))
BENCH.append(Case("11n-ampdu-n10", "ten saturated stations, 802.11n MCS 7 with A-MPDU", "11n", "ht7", r, uplink(r, 90), ampdu=HT_MAX, seconds=20, seeds=1))
