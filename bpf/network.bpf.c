// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What tracked programs send and receive through sockets: in the process that calls, folded by program and peer.
 */
#include "kernel_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#include "wire.h"
#include "common/addresses.h"
#include "common/emit.h"
#include "common/records.h"
#include "common/shares.h"
#include "common/told_apart.h"
#include "acting_user.h"
#include "current_process.h"
#include "owed_waits.h"
#include "thread_places.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MOST_CONNECTIONS 16384
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_CONNECTIONS);
	__type(key, struct tracer_connection_key);
	__type(value, struct tracer_connection_sums);
} connections SEC(".maps");

/* Sockets that try to connect, by their address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct tracer_connection_key);
} connecting SEC(".maps");

/* TRACER_ROLE_* of those that were seen to connect, or to be accepted. The kernel does not keep it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} roles SEC(".maps");

/* Where most of them are found without a hash: the address, in the low bits of which is the role; 0: none. */
#define RECENT_ROLES 4096
#define ROLE_MASK 3
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_ROLES);
	__type(key, __u32);
	__type(value, __u64);
} recent_roles SEC(".maps");

struct connection_buffer {
	struct tracer_connection_sums sums;
	struct tracer_wire_connection record;
	volatile __u64 socket; /* its address, with which the verifier lets nobody calculate elsewhere */
};
/* One for each program, as another one may run in the middle of it. */
#define PROGRAM_SENT 0
#define PROGRAM_RECEIVED 1
#define PROGRAM_STATE 2
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct connection_buffer);
} connection_buffer SEC(".maps");

const volatile __u64 most_peers = 1024; /* of a program */

/* Both ends, IPv4 addresses as IPv6 ones that stand for them. */
struct ends {
	struct in6_words remote;
	struct in6_words local;
};

/* By plain loads: a probe read costs as much as ten of them. */
static __always_inline void load_address(struct in6_words *to, const struct in6_words *from)
{
	to->words[0] = from->words[0];
	to->words[1] = from->words[1];
	to->words[2] = from->words[2];
	to->words[3] = from->words[3];
}

static __always_inline bool read_ends(struct ends *ends, struct sock *sock)
{
	__u16 family = sock->__sk_common.skc_family;

	if (family == AF_INET) {
		ends->remote.words[3] = sock->__sk_common.skc_daddr;
		ends->local.words[3] = sock->__sk_common.skc_rcv_saddr;
		if (ends->remote.words[3])
			ends->remote.words[2] = BE32(0xffff);
		if (ends->local.words[3])
			ends->local.words[2] = BE32(0xffff);
		return true;
	}
	if (family != AF_INET6 || !bpf_core_field_exists(((struct sock_common *)0)->skc_v6_daddr))
		return false;
	load_address(&ends->remote, (void *)sock + bpf_core_field_offset(struct sock_common, skc_v6_daddr));
	load_address(&ends->local, (void *)sock + bpf_core_field_offset(struct sock_common, skc_v6_rcv_saddr));
	return true;
}

static __always_inline bool is_same_host(const struct ends *ends)
{
	if (is_any6(&ends->remote))
		return is_loopback6(&ends->local);
	return is_loopback6(&ends->remote) || is_same6(&ends->remote, &ends->local);
}

static __always_inline __u64 *recent_role(__u64 address)
{
	__u32 place = ((address >> 6) ^ (address >> 18)) & (RECENT_ROLES - 1);

	return bpf_map_lookup_elem(&recent_roles, &place);
}

static __always_inline __u8 role_of(__u64 address)
{
	__u64 *recent = recent_role(address);

	if (recent && (*recent & ~(__u64)ROLE_MASK) == address)
		return *recent & ROLE_MASK;
	__u8 *role = bpf_map_lookup_elem(&roles, &address);
	return role ? *role : TRACER_ROLE_NONE;
}

/* Its address as a number, with which the verifier lets one calculate, in a program whose first argument it is. */
static __always_inline __u64 first_argument(void *context)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), context);
	return address;
}

/* The open file of a socket. NULL: it is one of the kernel's own, for NFS for example. */
static __always_inline struct file *file_of(struct sock *sock)
{
	struct socket *socket = sock->sk_socket;

	return socket ? socket->file : NULL;
}

/* False: it is none of a program, of the network, or between processes of this machine; or it carries raw packets. */
static __always_inline bool read_key(struct tracer_connection_key *key, struct ends *ends, struct sock *sock,
				     struct file *file, __u64 address, const struct tracer_process *process)
{
	key->start_ns = process->start_ns;
	key->program_start_ns = process->program_start_ns;
	key->pid = bpf_get_current_pid_tgid() >> 32;
	key->user = acting_user(process);
	if (!file || sock->sk_type == SOCK_RAW)
		return false;
	if (!read_ends(ends, sock)) {
		key->protocol = TRACER_PROTOCOL_UNIX;
		key->same_host = 1;
		return sock->__sk_common.skc_family == AF_UNIX;
	}
	__u16 protocol = sock->sk_protocol;
	key->same_host = is_same_host(ends);
	__builtin_memcpy(key->remote, &ends->remote, sizeof(key->remote));
	key->port = bpf_ntohs(sock->__sk_common.skc_dport);
	if (protocol == IPPROTO_TCP) {
		key->protocol = TRACER_PROTOCOL_TCP;
		key->role = role_of(address);
		if (key->role == TRACER_ROLE_SERVER)
			key->port = sock->__sk_common.skc_num;
	} else if (protocol == IPPROTO_UDP) {
		key->protocol = TRACER_PROTOCOL_UDP;
	}
	return true;
}

static __always_inline void fold(struct tracer_connection_key *key)
{
	__builtin_memset(key->remote, 0, sizeof(key->remote));
	key->port = 0;
	key->protocol = TRACER_PROTOCOL_OTHER;
	key->role = TRACER_ROLE_NONE;
	key->folded = 1;
}

/* Sums of this peer, or of all beyond those that are told apart. NULL: there is no room. */
static __always_inline struct tracer_connection_sums *
sums_of(struct tracer_connection_key *key, const struct ends *ends, struct connection_buffer *buffer, bool *fresh)
{
	struct tracer_connection_sums *sums = bpf_map_lookup_elem(&connections, key);

	*fresh = false;
	if (sums)
		return sums;
	__builtin_memset(&buffer->sums, 0, sizeof(buffer->sums));
	__u32 account = account_of(bpf_get_current_uid_gid());
	bool taken = false;
	if (has_room(key->program_start_ns, key->pid, most_peers)) {
		taken = take_row(account, MOST_CONNECTIONS, SHARES_OF_ROWS);
		buffer->sums.no_room = !taken;
	}
	if (taken) {
		note_told_apart(key->program_start_ns, key->pid);
		__builtin_memcpy(buffer->sums.local, &ends->local, sizeof(buffer->sums.local));
	} else {
		fold(key);
		sums = bpf_map_lookup_elem(&connections, key);
		if (sums && buffer->sums.no_room)
			sums->no_room = 1;
		if (sums)
			return sums;
		taken = take_row(account, MOST_CONNECTIONS, SHARES_OF_FOLDED);
	}
	buffer->sums.account = account;
	*fresh = taken && bpf_map_update_elem(&connections, key, &buffer->sums, BPF_NOEXIST) == 0;
	if (taken && !*fresh)
		give_row_back(account);
	return bpf_map_lookup_elem(&connections, key);
}

static __always_inline void tell(struct connection_buffer *buffer, const struct tracer_process *process,
				 const struct tracer_connection_key *key, struct tracer_connection_sums *sums)
{
	struct tracer_wire_connection *record = &buffer->record;

	fill_header(&record->header, TRACER_WIRE_CONNECTION, sizeof(*record), process->pid, process->start_ns,
		    bpf_ktime_get_boot_ns());
	fill_identity(&record->identity, process);
	record->key = *key;
	record->sums = *sums;
	if (send_within_own_share(record, sizeof(*record), sums->account) == 0) {
		/* Not 0, though nothing was moved yet. */
		sums->told = sums->sends + sums->receives + 1;
		return;
	}
	if (sums->told)
		return;
	/* User space would never ask for what it has not heard of: the next call begins it anew. */
	count_loss(TRACER_LOSS_RING_CONNECTION);
	if (bpf_map_delete_elem(&connections, key) == 0)
		give_row_back(record->sums.account);
}

/* Often enough, and at a peer's end. What was sent again before the first look is not this socket's alone. */
static __always_inline void read_health(struct tracer_connection_sums *sums, struct sock *sock)
{
	struct tcp_sock *tcp = (void *)sock;
	__u32 retransmits = BPF_CORE_READ(tcp, total_retrans);

	if (sums->socket == (__u64)sock && retransmits > sums->retransmits_of)
		__sync_fetch_and_add(&sums->retransmits, retransmits - sums->retransmits_of);
	sums->socket = (__u64)sock;
	sums->retransmits_of = retransmits;
	sums->round_trip_us = BPF_CORE_READ(tcp, srtt_us);
}

/* What was booked before its call returned. */
static __always_inline void add_owed_wait(struct tracer_connection_sums *sums, struct tracer_thread *thread,
					  __u32 handle)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct tracer_owed_wait *owed = bpf_map_lookup_elem(&owed_waits, &tid);

	thread->owes = 0;
	if (!owed)
		return;
	if (owed->socket == handle)
		__sync_fetch_and_add(&sums->wait_ns, owed->wait_ns);
	else if (owed->socket == TRACER_SOCKET_POLLED)
		sums->wait_unknown = 1;
}

/* How long the thread waited in the call that is about to return; a poll before it may have waited for the same. */
static __always_inline void add_wait(struct tracer_connection_sums *sums, __u64 sock, bool waits_elsewhere)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracer_thread *thread = thread_of(task);
	__u32 handle = socket_handle(sock);

	if (!thread || waits_elsewhere || thread->cause == TRACER_WAIT_POLL) {
		sums->wait_unknown = 1;
		return;
	}
	if (thread->owes)
		add_owed_wait(sums, thread, handle);
	if (!is_socket_wait(thread->cause))
		return;
	if (thread->target == TRACER_SOCKET_POLLED)
		sums->wait_unknown = 1;
	if (thread->target != handle)
		return;
	thread->target = 0;
	__u64 out_ns = thread->out_ns;
	__u64 in_ns = task->sched_info.last_arrival;
	__u64 queued_ns = task->sched_info.run_delay - thread->run_delay_ns;
	if (in_ns > out_ns && in_ns - out_ns > queued_ns)
		__sync_fetch_and_add(&sums->wait_ns, in_ns - out_ns - queued_ns);
}

/* Whoever uses such waits in a poll, or tries again. */
static __always_inline bool is_non_blocking(struct file *file, int flags)
{
	return (flags & MSG_DONTWAIT) || (file->f_flags & O_NONBLOCK);
}

#define HEALTH_MASK 15

static __always_inline int moved(struct sock *sock, int bytes, int flags, bool sends)
{
	__u32 slot = sends ? PROGRAM_SENT : PROGRAM_RECEIVED;
	bool fresh = false;
	struct tracer_connection_key key = {};
	struct ends ends = {};
	struct tracer_process *process = current_process();

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return 0;
	struct connection_buffer *buffer = bpf_map_lookup_elem(&connection_buffer, &slot);
	if (!buffer)
		return 0;
	/* By a detour as well, that costs less than a probe read. */
	buffer->socket = (__u64)sock;
	__u64 address = buffer->socket;
	struct file *file = file_of(sock);
	if (!read_key(&key, &ends, sock, file, address, process))
		return 0;
	/* An end is none of a peer with whom nothing was exchanged. */
	struct tracer_connection_sums *sums =
		bytes > 0 ? sums_of(&key, &ends, buffer, &fresh) : bpf_map_lookup_elem(&connections, &key);
	if (!sums) {
		if (bytes > 0)
			count_loss(TRACER_LOSS_RING_CONNECTION);
		return 0;
	}
	if (bytes > 0) {
		__sync_fetch_and_add(sends ? &sums->sent_bytes : &sums->received_bytes, bytes);
		__sync_fetch_and_add(sends ? &sums->sends : &sums->receives, 1);
	}
	sums->last_ns = bpf_ktime_get_boot_ns();
	add_wait(sums, address, is_non_blocking(file, flags));
	__u64 calls = sums->sends + sums->receives;
	if (key.protocol == TRACER_PROTOCOL_TCP && (fresh || bytes == 0 || (calls & HEALTH_MASK) == 0))
		read_health(sums, sock);
	if (!sums->told || calls >= 2 * sums->told)
		tell(buffer, process, &key, sums);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_sent, struct sock *sock, int bytes, int flags)
{
	return bytes > 0 ? moved(sock, bytes, flags, true) : 0;
}

/* 0: the peer has ended. A peek takes nothing; in the queue of errors is what this end has sent. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_received, struct sock *sock, int bytes, int flags)
{
	return bytes < 0 || (flags & (MSG_PEEK | MSG_ERRQUEUE)) ? 0 : moved(sock, bytes, flags, false);
}

static __always_inline void begin_connect(struct sock *sock, __u64 address)
{
	__u32 slot = PROGRAM_STATE;
	bool fresh;
	struct tracer_connection_key key = {};
	struct ends ends = {};
	struct tracer_process *process = current_process();

	if (!process || (process->flags & TRACER_FLAG_EXCLUDED))
		return;
	struct connection_buffer *buffer = bpf_map_lookup_elem(&connection_buffer, &slot);
	if (!buffer || !read_key(&key, &ends, sock, file_of(sock), address, process))
		return;
	struct tracer_connection_sums *sums = sums_of(&key, &ends, buffer, &fresh);
	if (!sums)
		return;
	__sync_fetch_and_add(&sums->connects, 1);
	sums->last_ns = bpf_ktime_get_boot_ns();
	bpf_map_update_elem(&connecting, &address, &key, BPF_ANY);
	if (!sums->told)
		tell(buffer, process, &key, sums);
}

/* In whoever is current: an interrupt, often. */
static __always_inline void end_connect(struct sock *sock, __u64 address, int state)
{
	struct tracer_connection_key *begun = bpf_map_lookup_elem(&connecting, &address);

	if (!begun)
		return;
	int error = BPF_CORE_READ(sock, sk_err);
	struct tracer_connection_key key = *begun;
	bpf_map_delete_elem(&connecting, &address);
	/* Without an error the program has given it up. */
	if (state != TCP_CLOSE || !error)
		return;
	struct tracer_connection_sums *sums = bpf_map_lookup_elem(&connections, &key);
	if (!sums)
		return;
	__sync_fetch_and_add(&sums->failed_connects, 1);
	sums->error = error;
}

static __always_inline void keep_role(__u64 address, __u8 role)
{
	__u64 *recent = recent_role(address);

	if (recent)
		*recent = address | role;
	bpf_map_update_elem(&roles, &address, &role, BPF_ANY);
}

/* Its address may be another's from now on. Closed it may still be asked for its end. */
SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(sock_destroyed, struct sock *sock)
{
	__u64 address = first_argument(ctx);
	__u64 *recent = recent_role(address);

	if (recent && (*recent & ~(__u64)ROLE_MASK) == address)
		*recent = 0;
	bpf_map_delete_elem(&roles, &address);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_state, struct sock *sock, int before, int state)
{
	__u64 address = first_argument(ctx);
	__u8 role = state == TCP_SYN_SENT ? TRACER_ROLE_CLIENT : TRACER_ROLE_SERVER;

	if (sock->sk_protocol != IPPROTO_TCP)
		return 0;
	if (state == TCP_SYN_SENT || (before == TCP_SYN_RECV && state == TCP_ESTABLISHED))
		keep_role(address, role);
	if (state == TCP_SYN_SENT)
		begin_connect(sock, address);
	else if (before == TCP_SYN_SENT)
		end_connect(sock, address, state);
	return 0;
}
