/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * CE marks on segments that arrive by an interface (tcx, ingress): paper 001, section 5.2. It marks
 * the subflows that user space has named, and drops nothing.
 */
#include "mark.h"

static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_skb_load_bytes_relative)(const void *skb, u32 at, void *to, u32 len, u32 from) = (void *)68;
static long (*bpf_skb_ecn_set_ce)(void *skb) = (void *)97;

/* Of include/uapi/linux/bpf.h, whose layout is ABI: what is read, and what lies between. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 not_read_1[4];
	u32 ifindex;
	u32 not_read_2[30];
	u32 gso_segs;
};

#define FROM_NETWORK_HEADER 1
#define NEXT_PROGRAM (-1)
#define TCP 6
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(x) ((u16)((x) >> 8 | ((x) & 0xff) << 8))
#else
#define NET16(x) (x)
#endif
#define ETH_IPV4 NET16(0x0800)
#define ETH_IPV6 NET16(0x86dd)
#define ECN_CE 3

/* What is read of a TCP segment. */
struct rw_head {
	struct rw_subflow flow;
	u32 ecn;
};

/* Reads the headers of a TCP segment. Not 0: no TCP, a fragment, or IPv6 extension headers. */
INLINE int head(struct __sk_buff *skb, struct rw_head *to)
{
	u8 ip[40];
	u32 at;

	if (skb->vlan_present)
		return -1;
	if (skb->protocol == ETH_IPV4) {
		if (bpf_skb_load_bytes_relative(skb, 0, ip, 20, FROM_NETWORK_HEADER))
			return -1;
		at = (ip[0] & 15) * 4;
		if (ip[0] >> 4 != 4 || at < 20 || ip[9] != TCP || ip[6] & 0x3f || ip[7])
			return -1;
		to->ecn = ip[1] & 3;
		to->flow.from[10] = to->flow.from[11] = to->flow.to[10] = to->flow.to[11] = 0xff;
		__builtin_memcpy(to->flow.from + 12, ip + 12, 4);
		__builtin_memcpy(to->flow.to + 12, ip + 16, 4);
	} else if (skb->protocol == ETH_IPV6) {
		if (bpf_skb_load_bytes_relative(skb, 0, ip, 40, FROM_NETWORK_HEADER))
			return -1;
		if (ip[0] >> 4 != 6 || ip[6] != TCP)
			return -1;
		at = 40;
		to->ecn = ip[1] >> 4 & 3;
		__builtin_memcpy(to->flow.from, ip + 8, 16);
		__builtin_memcpy(to->flow.to, ip + 24, 16);
	} else {
		return -1;
	}
	return bpf_skb_load_bytes_relative(skb, at, &to->flow.from_port, 4, FROM_NETWORK_HEADER) ? -1 : 0;
}

/* Whether an ECT packet of a named subflow gets a mark; if so the spacing begins anew. */
INLINE int is_due(struct rw_counters *counters, const struct rw_policy *policy, u32 segments)
{
	u64 chance = policy->chance < RW_MOST ? policy->chance : RW_MOST;
	u64 now, before;

	/* A super-packet has its segments' chances; all of it would be marked. */
	if (bpf_get_prandom_u32() >= chance * segments)
		return 0;
	/* Never more than 5 % of what came, whatever the draws say. */
	if ((counters->marked + segments) * RW_MOST_PARTS > counters->ect)
		return 0;
	now = bpf_ktime_get_ns();
	before = counters->not_before_ns;
	/* Of two processors one has it. */
	return now >= before &&
	       __sync_val_compare_and_swap(&counters->not_before_ns, before, now + policy->spacing_ns) == before;
}

SEC("tcx/ingress")
int mark(struct __sk_buff *skb)
{
	struct rw_head this = {};
	u32 index = skb->ifindex, segments = skb->gso_segs ? skb->gso_segs : 1;
	struct rw_interface *interface = bpf_map_lookup_elem(&interfaces, &index);
	struct rw_policy *policy;
	struct rw_counters *counters;

	if (!interface)
		return NEXT_PROGRAM;
	if (head(skb, &this)) {
		__sync_fetch_and_add(&interface->other, segments);
		return NEXT_PROGRAM;
	}
	policy = bpf_map_lookup_elem(&policies, &this.flow);
	counters = bpf_map_lookup_elem(&subflows, &this.flow);
	if (this.ecn == 0) {
		__sync_fetch_and_add(&interface->not_ect, segments);
		if (counters)
			__sync_fetch_and_add(&counters->not_ect, segments);
		return NEXT_PROGRAM;
	}
	if (this.ecn == ECN_CE) {
		__sync_fetch_and_add(&interface->ce, segments);
		return NEXT_PROGRAM;
	}
	__sync_fetch_and_add(&interface->ect, segments);
	if (!policy || !counters)
		return NEXT_PROGRAM;
	__sync_fetch_and_add(&counters->ect, segments);
	if (is_due(counters, policy, segments) && bpf_skb_ecn_set_ce(skb)) {
		__sync_fetch_and_add(&counters->marked, segments);
		__sync_fetch_and_add(&interface->marked, segments);
	}
	return NEXT_PROGRAM;
}
