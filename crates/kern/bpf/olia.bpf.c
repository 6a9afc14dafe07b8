/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* OLIA (Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05). */
#include "coupled.h"

#define LAW_IS_COUPLED 1

/* How many paths are the best without the largest window, and how many have the largest. */
struct rw_sets {
	u64 best;
	u64 largest;
	/* How far each l is shifted right, then left. */
	u64 shift;
	u64 up;
	u32 paths;
	u32 collected;
	u32 maxed;
};

/* l^2/rtt, an estimate of the rate from the distance between losses; the longest l is brought to 16 to 31 bits. */
INLINE u64 quality(u64 since_loss, u32 rtt_us, const struct rw_sets *sets)
{
	u64 l = least(since_loss >> sets->shift << sets->up, (1ULL << 31) - 1);

	return l * l / rtt_of(rtt_us);
}

INLINE void count_path(struct rw_sets *sets, u64 q, u64 window)
{
	sets->paths++;
	if (q >= sets->best && window < sets->largest)
		sets->collected++;
	if (window >= sets->largest)
		sets->maxed++;
}

INLINE void sets_of(struct rw_connection *c, const struct rw_own *own, struct rw_sets *sets)
{
	u64 longest = own->since_loss;

	sets->largest = window_of(own);
	for (int i = 0; i < RW_SLOTS; i++) {
		if (!is_other(c, i, own->owner))
			continue;
		longest = most(longest, c->slots[i].since_loss);
		sets->largest = most(sets->largest, c->slots[i].window);
	}
	/* Below 2^31: l has no more than 59 bits. */
	sets->shift = above_36_bits(longest << 5);
	sets->up = 16 - ((((longest >> sets->shift >> 15) + 0xffff) >> 16) << 4);
	sets->best = quality(own->since_loss, own->rtt_us, sets);
	for (int i = 0; i < RW_SLOTS; i++) {
		if (is_other(c, i, own->owner))
			sets->best = most(sets->best, quality(c->slots[i].since_loss, c->slots[i].rtt_us, sets));
	}
	/* 0, of which the verifier does not know: it would follow each count by itself. */
	sets->paths = c->key.zero;
	sets->collected = c->key.zero;
	sets->maxed = c->key.zero;
	count_path(sets, quality(own->since_loss, own->rtt_us, sets), window_of(own));
	for (int i = 0; i < RW_SLOTS; i++) {
		if (is_other(c, i, own->owner))
			count_path(sets, quality(c->slots[i].since_loss, c->slots[i].rtt_us, sets),
				   c->slots[i].window);
	}
}

/* (w/r^2) / (sum w_k/r_k)^2 + alpha/w = (share^2 + alpha) / w */
INLINE s64 law_increase(struct rw_connection *c, const struct rw_own *own)
{
	u64 packets = (u64)own->packets << 8, share, shared, alpha;
	struct rw_rates rates;
	struct rw_sets sets;

	if (!c)
		return ONE_Q56 / packets;
	rates_of(c, own, &rates);
	share = share_of(&rates, rates.own);
	shared = share * share;
	sets_of(c, own, &sets);
	if (!sets.collected)
		return shared / packets;
	if (window_of(own) >= sets.largest) {
		alpha = ONE_Q56 / (sets.paths * most(sets.maxed, 1));
		if (shared >= alpha)
			return (shared - alpha) / packets;
		return -(s64)((alpha - shared) / packets);
	}
	if (quality(own->since_loss, own->rtt_us, &sets) >= sets.best)
		return (shared + ONE_Q56 / (sets.paths * sets.collected)) / packets;
	return shared / packets;
}

INLINE u32 law_reduced(struct rw_connection *c, const struct rw_own *own)
{
	return own->packets / 2;
}

#include "controller.h"
