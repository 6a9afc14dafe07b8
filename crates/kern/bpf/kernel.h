/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the controllers need of the kernel: a few fields, and helpers by number.
 *
 * The structs name only the fields that are used. Their offsets are not the compiler's: each access is
 * a CO-RE relocation, which the running kernel resolves from its own BTF when a program is loaded.
 */
#ifndef RW_KERNEL_H
#define RW_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* include/uapi/linux/bpf.h: map types, flags and helper numbers, which are the kernel's ABI. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 1

struct bpf_spin_lock {
	u32 val;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;

#define CORE __attribute__((preserve_access_index))
/* enum bpf_field_info_kind of the compiler: byte offset, byte size, exists, signed, shift left, shift right. */
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)

struct net {
	u64 net_cookie;
} CORE;

typedef struct {
	struct net *net;
} CORE possible_net_t;

struct sock_common {
	possible_net_t skc_net;
} CORE;

struct sock {
	struct sock_common __sk_common;
} CORE;

struct inet_sock {
	struct sock sk;
} CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	void *icsk_ulp_data;
	u64 icsk_ca_priv[13];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 mss_cache;
	u32 max_packets_out;
	u32 prior_cwnd;
	u64 bytes_acked;
	u8 is_cwnd_limited : 1;
	_Bool is_mptcp;
} CORE;

struct mptcp_subflow_context {
	u32 token;
} CORE;

/* include/net/tcp_states.h and tcp.h: states of congestion that begin with a loss. */
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4

#endif
