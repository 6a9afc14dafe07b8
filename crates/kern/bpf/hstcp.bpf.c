/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* HighSpeed TCP (RFC 3649): Reno up to 38 packets, above that steeper up and less far down. Not coupled. */
#include "coupled.h"

#define LAW_IS_COUPLED 0
/* Low_Window of section 5. */
#define LOW_WINDOW 38
/* log2(38), log2(83000/38): the windows between which the decrease goes from 0.5 to 0.1, Q16. */
#define LOG_LOW 343928
#define LOG_SPAN 726984

/* b(w), Q16. */
INLINE u64 decrease(u64 log)
{
	u64 down;

	if (log <= LOG_LOW)
		return 32768;
	/* 0.4 of the way, 26214 = 0.4 in Q16. */
	down = (log - LOG_LOW) * 26214 / LOG_SPAN;
	return down >= 26214 ? 6554 : 32768 - down;
}

/* a(w) = w^2 p(w) 2b/(2-b) with p(w) = 0.078/w^1.2: so 0.156 w^0.8 b/(2-b). Packets per round trip. */
INLINE s64 law_increase(struct rw_connection *c, const struct rw_own *own)
{
	u64 log, b, power, a = 65536;

	if (own->packets > LOW_WINDOW) {
		log = log2_q16(own->packets);
		b = decrease(log);
		power = exp2_q16(log * 4 / 5);
		/* 10224 = 0.156 in Q16. */
		a = most((power * 10224 >> 16) * b / (131072 - b), 65536);
	}
	return (a << 32) / own->packets;
}

INLINE u32 law_reduced(struct rw_connection *c, const struct rw_own *own)
{
	if (own->packets <= LOW_WINDOW)
		return own->packets / 2;
	return own->packets - (u32)(own->packets * decrease(log2_q16(own->packets)) >> 16);
}

#include "controller.h"
