#!/usr/bin/env python3
"""Tells from a trace of ns-3 how long stations wait before their TCP acknowledgements, and how often each radio sends.

    ENV/bin/python bench/ns3/run.py --only tcp-down-54-cubic --seeds 1 --scale 0.2 --out /tmp/t.csv --trace /tmp/t.txt
    python3 bench/ns3/gaps.py /tmp/t.txt

For 11a at 54 Mb/s: a slot is 9 us, DIFS 34 us. With aggregates only the numbers of transmissions mean something.
"""
import collections, math, sys

MAC_ACK, CONTROL = 14, (14, 20, 24, 32)     # bytes; and CTS, Block Ack Request, Block Ack
SHORT = 200                                 # a TCP acknowledgement, of which some carry SACK blocks


def end(at, size):
    rate = 24 if size == MAC_ACK else 54
    return at + (20 + 4 * math.ceil((22 + 8 * size) / (4 * rate))) * 1e-6


def main():
    with open(sys.argv[1]) as f:
        sent = [(float(t), int(radio), int(size), retry == "1") for t, radio, size, retry in map(str.split, f)]
    sent = [s for s in sent if s[0] > sent[-1][0] / 2]
    numbers = collections.Counter(radio for _, radio, size, _ in sent if size not in CONTROL)
    for radio, n in sorted(numbers.items()):
        print(f"radio {radio}: {n} transmissions of data (0 is the access point)")
    slots, last = collections.Counter(), None
    for t, radio, size, retry in sent:
        # After the MAC's own ACK of the data that the acknowledgement answers.
        if last and radio > 0 and size not in CONTROL and size < SHORT and not retry and last[1] == radio and last[2] == MAC_ACK:
            slots[round((t - end(last[0], last[2])) * 1e6 - 34) // 9] += 1
        last = (t, radio, size)
    total = sum(slots.values())
    if total:
        print(f"TCP acknowledgements right after an ACK of their own station: {total}; slots waited beyond DIFS:")
        for n in sorted(slots):
            print(f"  {n:2d}: {100 * slots[n] / total:5.1f} %")


if __name__ == "__main__":
    main()
