/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What LIA, OLIA and BALIA ask about all paths of a connection. Callers hold the connection's lock, or have none. */
#ifndef RW_COUPLED_H
#define RW_COUPLED_H

#include "arithmetic.h"

/* Sum and maximum of the paths' rates, the asking one included. */
struct rw_rates {
	u64 own;
	u64 sum;
	u64 max;
	/* `sum` shifted below 2^36. */
	u64 shift;
};

INLINE void rates_of(const struct rw_connection *c, const struct rw_own *own, struct rw_rates *rates)
{
	rates->own = rate_of(window_of(own), own->rtt_us);
	rates->sum = rates->own;
	rates->max = rates->own;
	for (int i = 0; i < RW_SLOTS; i++) {
		u64 rate;

		if (!is_other(c, i, own->owner))
			continue;
		rate = rate_of(c->slots[i].window, c->slots[i].rtt_us);
		rates->sum += rate;
		rates->max = most(rates->max, rate);
	}
	rates->shift = above_36_bits(rates->sum);
}

/* A path's share of all rates, Q28. */
INLINE u64 share_of(const struct rw_rates *rates, u64 rate)
{
	u64 sum = rates->sum >> rates->shift;

	return ((rate >> rates->shift) << 28) / most(sum, 1);
}

/* A window in packets of the asking path, Q8, at least one packet. */
INLINE u64 packets_q8(u64 window, u32 mss)
{
	return most((least(window, MAX_WINDOW) << 8) / most(mss, 1), 256);
}

#endif
