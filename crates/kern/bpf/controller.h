/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The controller around a law: slow start, sharing between subflows, the callbacks of the kernel.
 *
 * A law is three functions, defined before this file is included:
 *   s64 law_increase(c, own)   growth per acknowledged packet in congestion avoidance, packets, Q48
 *   u32 law_reduced(c, own)    the window after a congestion event, packets
 *   LAW_IS_COUPLED             whether it asks about other paths at all
 * `c` is the connection, locked, or 0 where the subflow is alone (plain TCP, map full): then it is Reno.
 *
 * A section "struct_ops/MEMBER" is put into that member of struct tcp_congestion_ops by the loader.
 */
#ifndef RW_CONTROLLER_H
#define RW_CONTROLLER_H

#include "coupled.h"

/* Helpers may be called by programs that say GPL: a declaration about this source (dual licence, first line). */
char LICENSE[] SEC("license") = "GPL";

/* An uncoupled subflow of an MPTCP connection asks for a place at one acknowledgement in so many. */
#define ASK_EVERY 64
#define MIN_WINDOW 2

/* A socket's own state, in its icsk_ca_priv (104 bytes). */
struct rw_private {
	struct rw_key key;
	/* tcp_sock.bytes_acked at the last loss, and the bytes between the last two. */
	u64 acked_at_loss;
	u64 between_losses;
	/* Growth that is not a packet yet, Q48. */
	s64 fraction;
	/* The place among the connection's subflows: 0 if there is none. */
	u32 owner;
	u32 slot;
	u32 asked;
	u32 in_loss;
};

_Static_assert(sizeof(struct rw_private) <= 104, "icsk_ca_priv has 13 words");

INLINE struct rw_private *private_of(struct tcp_sock *tp)
{
	return (struct rw_private *)tp->inet_conn.icsk_ca_priv;
}

INLINE int is_mptcp(struct tcp_sock *tp)
{
	return FIELD_EXISTS(tp->is_mptcp) && tp->is_mptcp;
}

/* The window is what limits this connection (as tcp_is_cwnd_limited). */
INLINE int is_window_limited(struct tcp_sock *tp)
{
	u64 bits = *((u8 *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, 0));

	bits <<= __builtin_preserve_field_info(tp->is_cwnd_limited, 4);
	bits >>= __builtin_preserve_field_info(tp->is_cwnd_limited, 5);
	if (bits)
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

INLINE void own_of(struct tcp_sock *tp, struct rw_private *p, struct rw_own *own)
{
	own->owner = p->owner;
	own->since_loss = most(tp->bytes_acked - p->acked_at_loss, p->between_losses);
	own->packets = least(most(tp->snd_cwnd, 1), MAX_PACKETS);
	own->mss = most(tp->mss_cache, 1);
	own->rtt_us = tp->srtt_us >> 3;
}

INLINE struct rw_counters *counters_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&counters, &first);
}

#define COUNT(name)                                               \
	do {                                                      \
		struct rw_counters *all = counters_of();          \
		if (all)                                          \
			__sync_fetch_and_add(&all->name, 1);      \
	} while (0)

INLINE int is_same(const struct rw_key *a, const struct rw_key *b)
{
	return a->netns == b->netns && a->token == b->token;
}

/* The connection of a socket with a place in it; 0 if it has none. Locked on return. */
INLINE struct rw_connection *locked(struct rw_private *p)
{
	struct rw_key key = p->key;
	struct rw_connection *c;
	u32 slot = p->slot;

	if (!p->owner || slot >= RW_SLOTS)
		return 0;
	c = bpf_map_lookup_elem(&connections, &key);
	if (!c)
		return 0;
	bpf_spin_lock(&c->lock);
	/* The memory of a deleted entry may belong to another connection by now. */
	if (is_same(&c->key, &key) && c->slots[slot].owner == p->owner)
		return c;
	bpf_spin_unlock(&c->lock);
	return 0;
}

INLINE void publish(struct rw_connection *c, u32 slot, const struct rw_own *own)
{
	if (slot >= RW_SLOTS)
		return;
	c->slots[slot].window = window_of(own);
	c->slots[slot].rtt_us = own->rtt_us;
	c->slots[slot].since_loss = own->since_loss;
}

/* Whether the socket is a subflow with a token, and of which connection. */
INLINE int key_of(struct tcp_sock *tp, struct rw_key *key)
{
	struct mptcp_subflow_context *subflow;
	struct sock *sk = (struct sock *)tp;

	key->zero = 0;
	key->netns = 0;
	key->token = 0;
	if (!is_mptcp(tp))
		return 0;
	subflow = tp->inet_conn.icsk_ulp_data;
	if (!subflow)
		return 0;
	if (FIELD_EXISTS(sk->__sk_common.skc_net) && FIELD_EXISTS(sk->__sk_common.skc_net.net->net_cookie))
		key->netns = sk->__sk_common.skc_net.net->net_cookie;
	if (bpf_probe_read_kernel(&key->token, sizeof(key->token),
				  __builtin_preserve_access_index(&subflow->token)))
		return 0;
	return key->token != 0;
}

/* Takes a free place of a connection. */
INLINE int take_slot(struct rw_connection *c, struct rw_private *p, u32 owner)
{
	int found = -1;

	bpf_spin_lock(&c->lock);
	if (!c->closing && is_same(&c->key, &p->key)) {
		for (int i = RW_SLOTS - 1; i >= 0; i--)
			if (!c->slots[i].owner)
				found = i;
		if (found >= 0 && found < RW_SLOTS) {
			c->slots[found].owner = owner;
			c->slots[found].window = 0;
			c->slots[found].rtt_us = 0;
			c->slots[found].since_loss = 0;
		}
	} else {
		found = -2;
	}
	bpf_spin_unlock(&c->lock);
	return found;
}

/* Finds or makes the connection, and a place in it. */
INLINE void join(struct tcp_sock *tp, struct rw_private *p)
{
	struct rw_connection fresh = {};
	struct rw_counters *all;
	struct rw_connection *c;
	struct rw_key key;
	u32 owner;
	int slot;

	if (!key_of(tp, &key))
		return;
	p->key = key;
	c = bpf_map_lookup_elem(&connections, &key);
	if (!c) {
		fresh.key = key;
		/* Another subflow may be quicker: then its entry is taken. */
		bpf_map_update_elem(&connections, &key, &fresh, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&connections, &key);
	}
	all = counters_of();
	if (!all)
		return;
	if (!c) {
		__sync_fetch_and_add(&all->map_full, 1);
		return;
	}
	/* Never 0, which is nobody. */
	owner = (u32)__sync_fetch_and_add(&all->owners, 1) | 1U << 31;
	slot = take_slot(c, p, owner);
	if (slot >= 0) {
		p->slot = slot;
		p->owner = owner;
		__sync_fetch_and_add(&all->joined, 1);
	} else if (slot == -1) {
		__sync_fetch_and_add(&all->slots_full, 1);
	}
}

/* Gives the place back, and the connection's entry if it was the last. */
INLINE void leave(struct rw_private *p)
{
	struct rw_connection *c = locked(p);
	struct rw_key key = p->key;
	u32 slot = p->slot, others = 0;

	p->owner = 0;
	if (!c)
		return;
	if (slot < RW_SLOTS)
		c->slots[slot].owner = 0;
	for (int i = 0; i < RW_SLOTS; i++)
		others += c->slots[i].owner != 0;
	if (!others)
		c->closing = 1;
	bpf_spin_unlock(&c->lock);
	if (!others)
		bpf_map_delete_elem(&connections, &key);
	COUNT(left);
}

/* Joins or leaves, as the socket has become a subflow or is one no more. */
INLINE void keep_place(struct tcp_sock *tp, struct rw_private *p)
{
	if (!LAW_IS_COUPLED)
		return;
	if (!is_mptcp(tp)) {
		if (p->owner)
			leave(p);
	} else if (!p->owner && p->asked++ % ASK_EVERY == 0) {
		join(tp, p);
	}
}

/* Growth that is due for so many acknowledged packets; what is not a packet yet is kept. */
INLINE u32 grown(u32 window, s64 *fraction, s64 per_packet, u32 acked)
{
	s64 sum = *fraction + per_packet * (s64)least(acked, MAX_ACKED);
	s64 whole = sum >> 48;
	s64 next = (s64)window + whole;

	*fraction = sum - (whole << 48);
	if (next < MIN_WINDOW) {
		*fraction = 0;
		next = MIN_WINDOW;
	}
	return next > MAX_PACKETS ? MAX_PACKETS : next;
}

SEC("struct_ops/init")
int rw_init(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct rw_private *p = private_of(tp);

	p->owner = 0;
	p->acked_at_loss = tp->bytes_acked;
	p->between_losses = 0;
	p->fraction = 0;
	p->slot = 0;
	p->asked = 0;
	p->in_loss = 0;
	keep_place(tp, p);
	return 0;
}

SEC("struct_ops/release")
int rw_release(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct rw_private *p = private_of(tp);

	if (p->owner)
		leave(p);
	return 0;
}

SEC("struct_ops/cong_avoid")
int rw_cong_avoid(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct rw_private *p = private_of(tp);
	struct rw_connection *c;
	u32 acked = ctx[2];
	struct rw_own own;
	s64 fraction, by;

	keep_place(tp, p);
	if (is_window_limited(tp) && tp->snd_cwnd < tp->snd_ssthresh) {
		u32 next = least((u64)tp->snd_cwnd + acked, tp->snd_ssthresh);

		acked -= next - tp->snd_cwnd;
		tp->snd_cwnd = least(next, MAX_PACKETS);
	} else if (!is_window_limited(tp)) {
		acked = 0;
	}
	own_of(tp, p, &own);
	c = locked(p);
	by = acked ? law_increase(c, &own) : 0;
	if (c) {
		publish(c, p->slot, &own);
		bpf_spin_unlock(&c->lock);
	}
	if (!acked)
		return 0;
	fraction = p->fraction;
	tp->snd_cwnd = grown(own.packets, &fraction, by, acked);
	p->fraction = fraction;
	/* A law may shrink the window (OLIA); that is no reason to slow-start. */
	if (tp->snd_cwnd < tp->snd_ssthresh)
		tp->snd_ssthresh = tp->snd_cwnd;
	return 0;
}

SEC("struct_ops/ssthresh")
int rw_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct rw_private *p = private_of(tp);
	struct rw_connection *c;
	struct rw_own own;
	u32 reduced;

	own_of(tp, p, &own);
	c = locked(p);
	reduced = most(law_reduced(c, &own), MIN_WINDOW);
	if (c) {
		own.packets = reduced;
		publish(c, p->slot, &own);
		bpf_spin_unlock(&c->lock);
	}
	p->fraction = 0;
	return reduced;
}

SEC("struct_ops/set_state")
int rw_set_state(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct rw_private *p = private_of(tp);
	u32 state = (u8)ctx[1];
	u32 in_loss = state == TCP_CA_Recovery || state == TCP_CA_Loss;

	/* A mark (CWR) is no loss to OLIA's l, and a timeout within a recovery is no second one. */
	if (in_loss && !p->in_loss) {
		p->between_losses = tp->bytes_acked - p->acked_at_loss;
		p->acked_at_loss = tp->bytes_acked;
	}
	p->in_loss = in_loss;
	return 0;
}

SEC("struct_ops/undo_cwnd")
int rw_undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	return most(tp->snd_cwnd, tp->prior_cwnd);
}

/* The law alone, for the tests: BPF_PROG_TEST_RUN with this as its context. */
struct rw_trial {
	struct rw_key key;
	struct rw_own own;
	s64 fraction;
	u32 acked;
	/* Out: the window after the growth, and what a congestion event would leave of `own.packets`. */
	u32 window;
	u32 reduced;
	u32 found;
};

SEC("syscall")
int rw_try(struct rw_trial *t)
{
	struct rw_key key = t->key;
	struct rw_own own = t->own;
	s64 fraction = t->fraction, by;
	struct rw_connection *c = bpf_map_lookup_elem(&connections, &key);

	t->found = c != 0;
	if (c)
		bpf_spin_lock(&c->lock);
	by = law_increase(c, &own);
	t->reduced = law_reduced(c, &own);
	if (c)
		bpf_spin_unlock(&c->lock);
	t->window = grown(own.packets, &fraction, by, t->acked);
	t->fraction = fraction;
	return 0;
}

#endif
