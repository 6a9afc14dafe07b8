/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Fixed point. Qn has n bits after the point.
 *
 * A path's rate is window / rtt. Laws need it as a share of all rates, which lies in 0..1: so a window of
 * 32 GiB and a round trip of 10 us stay inside 64 bits.
 */
#ifndef RW_ARITHMETIC_H
#define RW_ARITHMETIC_H

#include "shared.h"

/* As in crates/bond/src/cc/coupled.rs: a path without a sample does not divide by zero. */
#define MIN_RTT_US 10
#define MAX_WINDOW ((1ULL << 35) - 1)
#define MAX_PACKETS (1U << 24)
/* More packets in one acknowledgement are counted as so many: growth per call stays inside Q48. */
#define MAX_ACKED 8192
#define ONE_Q56 (1ULL << 56)

INLINE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 rtt_of(u32 rtt_us)
{
	return most(rtt_us, MIN_RTT_US);
}

/* Rate of a path in units that only ratios are taken of; below 2^60. */
INLINE u64 rate_of(u64 window, u32 rtt_us)
{
	return (least(window, MAX_WINDOW) << 27) / rtt_of(rtt_us);
}

/* The other paths that carry something. */
INLINE int is_other(const struct rw_connection *c, int i, u32 owner)
{
	const struct rw_slot *slot = &c->slots[i];

	return slot->owner && slot->owner != owner && slot->window && slot->rtt_us;
}

/*
 * How far to shift right for a value below 2^36. Without branches, each of which the verifier would follow:
 * (x + 2^n - 1) >> n is 1 for an x of n bits that is not 0.
 */
INLINE u64 above_36_bits(u64 value)
{
	u64 shift, by;

	shift = ((value >> 52) + 0xfff) >> 12 << 4;
	value >>= shift;
	by = ((value >> 44) + 0xff) >> 8 << 3;
	value >>= by;
	shift += by;
	by = ((value >> 40) + 0xf) >> 4 << 2;
	value >>= by;
	shift += by;
	by = ((value >> 38) + 3) >> 2 << 1;
	value >>= by;
	shift += by;
	by = value >> 37;
	value >>= by;
	return shift + by + (value >> 36);
}

/* The subflow that is asked about, as it is now; its slot may be older, or it has none. */
struct rw_own {
	u64 since_loss;
	/* 0: no slot, and no others. */
	u32 owner;
	u32 packets;
	u32 mss;
	u32 rtt_us;
};

INLINE u64 window_of(const struct rw_own *own)
{
	return (u64)own->packets * own->mss;
}

/* Log2 of a number of packets above 0, Q16; the error is below 0.0002. The polynomial is fitted by least squares. */
INLINE u64 log2_q16(u32 packets)
{
	u64 whole = 0, f, value = packets;

	for (int i = 0; i < 32; i++) {
		if (value >> 1) {
			value >>= 1;
			whole++;
		}
	}
	f = (((u64)packets << 16) >> whole) - 65536;
	return (whole << 16) + f + (f * (65536 - f) >> 16) * (28710 - (15512 * f >> 16) + (5263 * (f * f >> 16) >> 16)) / 65536;
}

/* 2^x of a Q16 below 40, as Q16; the error is below 0.0003 of it. */
INLINE u64 exp2_q16(u64 x)
{
	u64 f = x & 65535;

	return (65536 + f - (f * (65536 - f) >> 16) * (19928 + (5186 * f >> 16)) / 65536) << (x >> 16);
}

#endif
