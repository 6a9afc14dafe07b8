/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Maps that user space and the program share; crates/kern/src/marks.rs has the same layout. */
#ifndef RW_MARK_H
#define RW_MARK_H

#include "kernel.h"

#define RW_SUBFLOWS 256
#define RW_INTERFACES 16
/* 5 % of 2^32: the program marks no larger share, whatever the policy says. */
#define RW_MOST 214748364
#define RW_MOST_PARTS 20

/* A subflow by its packets that arrive; IPv4 addresses as ::ffff:a.b.c.d, all in network order. */
struct rw_subflow {
	u8 from[16];
	u8 to[16];
	u16 from_port;
	u16 to_port;
};

/* Written by user space. */
struct rw_policy {
	/* Least time between two marks, nanoseconds: a round trip. */
	u64 spacing_ns;
	/* Chance that a segment is marked, of 2^32. */
	u32 chance;
	u32 zero;
};

/* Zeros by user space, then written by the program alone. A super-packet counts as its segments. */
struct rw_counters {
	/* No mark before this (CLOCK_MONOTONIC). */
	u64 not_before_ns;
	u64 ect;
	u64 marked;
	u64 not_ect;
};

/* The same of an interface. */
struct rw_interface {
	/* TCP whose sender can answer marks (ECT), whoever's it is. */
	u64 ect;
	/* Marked here. */
	u64 marked;
	/* TCP that came with a mark from the network. */
	u64 ce;
	/* TCP that may not be marked. */
	u64 not_ect;
	/* Anything else. */
	u64 other;
};

struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[RW_SUBFLOWS];
	struct rw_subflow *key;
	struct rw_policy *value;
} policies SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[RW_SUBFLOWS];
	struct rw_subflow *key;
	struct rw_counters *value;
} subflows SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[RW_INTERFACES];
	u32 *key;
	struct rw_interface *value;
} interfaces SEC(".maps");

#endif
