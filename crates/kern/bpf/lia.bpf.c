/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* LIA, the linked increases of RFC 6356. */
#include "coupled.h"

#define LAW_IS_COUPLED 1

/* min(max(w_k/r_k^2) / (sum w_k/r_k)^2, 1/w); with shares s of the rate, w_k/r_k^2 / sum^2 = s_k^2/w_k. */
INLINE s64 law_increase(struct rw_connection *c, const struct rw_own *own)
{
	u64 single = ONE_Q56 / ((u64)own->packets << 8), best, share;
	struct rw_rates rates;

	if (!c)
		return single;
	rates_of(c, own, &rates);
	share = share_of(&rates, rates.own);
	best = share * share / ((u64)own->packets << 8);
	for (int i = 0; i < RW_SLOTS; i++) {
		if (!is_other(c, i, own->owner))
			continue;
		share = share_of(&rates, rate_of(c->slots[i].window, c->slots[i].rtt_us));
		best = most(best, share * share / packets_q8(c->slots[i].window, own->mss));
	}
	return least(best, single);
}

INLINE u32 law_reduced(struct rw_connection *c, const struct rw_own *own)
{
	return own->packets / 2;
}

#include "controller.h"
