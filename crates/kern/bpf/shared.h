/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the subflows of an MPTCP connection know of each other. crates/kern/src/shared.rs has the same layout. */
#ifndef RW_SHARED_H
#define RW_SHARED_H

#include "kernel.h"

/* Linux takes eight subflows beside the first (MPTCP_SUBFLOWS_MAX, net/mptcp/pm.c). */
#define RW_SLOTS 10
#define RW_CONNECTIONS 16384

/* Tokens are unique within a network namespace only. */
struct rw_key {
	u64 netns;
	u32 token;
	u32 zero;
};

/* One subflow. */
struct rw_slot {
	/* 0 where the slot is free. */
	u32 owner;
	/* Smoothed round trip, microseconds; 0 before the first sample. */
	u32 rtt_us;
	/* Congestion window, bytes. */
	u64 window;
	/* Bytes acknowledged since the last loss, or between the last two if that was more (OLIA's l). */
	u64 since_loss;
};

/* One MPTCP connection. All but `lock` is read and written under it. */
struct rw_connection {
	struct bpf_spin_lock lock;
	/* The last subflow has gone, and the entry is about to be deleted: nobody may join. */
	u32 closing;
	struct rw_key key;
	struct rw_slot slots[RW_SLOTS];
};

/* Counted since the controller was loaded. */
struct rw_counters {
	/* The last owner's number. */
	u64 owners;
	/* Subflows that found a place beside their connection's others. */
	u64 joined;
	/* Attempts that failed because the map had no room: the subflow is uncoupled, and asks again. */
	u64 map_full;
	/* Attempts that failed because the connection has more than RW_SLOTS subflows. */
	u64 slots_full;
	/* Subflows that gave their place back: closed, or fallen back to TCP. */
	u64 left;
};

struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[RW_CONNECTIONS];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	struct rw_key *key;
	struct rw_connection *value;
} connections SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	struct rw_counters *value;
} counters SEC(".maps");

#endif
