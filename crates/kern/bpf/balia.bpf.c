/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* BALIA (Peng et al., IEEE/ACM ToN 2016; draft-walid-mptcp-congestion-control-04). */
#include "coupled.h"

#define LAW_IS_COUPLED 1

/* x/(r (sum x)^2) (1+a)/2 (4+a)/5 with a = max x / x: in shares of the rate, (s+m)(4s+m) / (10 w). */
INLINE s64 law_increase(struct rw_connection *c, const struct rw_own *own)
{
	struct rw_rates rates;
	u64 share, top;

	/* Alone it is Reno. */
	if (!c)
		return ONE_Q56 / ((u64)own->packets << 8);
	rates_of(c, own, &rates);
	share = share_of(&rates, rates.own);
	top = share_of(&rates, rates.max);
	return (share + top) * (4 * share + top) / 10 / ((u64)own->packets << 8);
}

/* w - w/2 min(a, 1.5) */
INLINE u32 law_reduced(struct rw_connection *c, const struct rw_own *own)
{
	struct rw_rates rates;
	u64 share, part;

	if (!c)
		return own->packets / 2;
	rates_of(c, own, &rates);
	share = share_of(&rates, rates.own);
	/* A half of a, Q16; three quarters at most. */
	part = least((share_of(&rates, rates.max) << 15) / most(share, 1), 3 << 14);
	return own->packets - ((own->packets * part + 65535) >> 16);
}

#include "controller.h"
