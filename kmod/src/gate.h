/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether handlers work: the gate, the duty cycle, the heartbeat and the
 * sampling ratio; and how long each of them kept the module from looking.
 */
#ifndef IOWITNESS_GATE_H
#define IOWITNESS_GATE_H

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "counters.h"

/*
 * All that each handler reads and none writes, in one cache line of its own:
 * it stays shared in every CPU's cache.
 */
static struct {
	u32 closed;		/* enum closed, without the heartbeat's */
	u32 ratio;		/* one entry in so many is taken */
	u32 generation;		/* changes with each reset */
	u32 epoch;
	unsigned long beat_by;	/* jiffies: the last instant at which the heartbeat is fresh */
	bool beats;		/* whether a heartbeat is asked for */
	bool nests;		/* a function is probed that calls another one that is */
	u64 opened;		/* ns: what was waited before is not looked at */
	u64 min_ns;
} rules ____cacheline_aligned = { .closed = CLOSED_GATE, .ratio = 1 };

/* What only writers and readers of the files touch, under the mutex. */
static DEFINE_MUTEX(lock);
static struct {
	bool gate;		/* open */
	bool duty_on;
	u32 duty_on_ms;		/* of each duty_every_ms; 0: always on */
	u32 duty_every_ms;
	unsigned long duty_due;	/* jiffies: when the duty cycle turns */
	u32 heartbeat_ms;	/* 0: none is asked for */
	u64 beat_ns;		/* the last heartbeat */
	u32 lapses;		/* how often it came too late */
	u64 accounted;		/* ns: time is divided up to here */
	u64 loaded;
	u64 time[CLOSED_KINDS];	/* ns */
} state = { .duty_on = true };

/*
 * CLOCK_MONOTONIC without a lock or a loop: it can be read in any context. It may
 * step back by a little when the timekeeper is updated, which LOSS_CLOCK counts.
 */
static __always_inline u64 clock_ns(void)
{
	return ktime_get_mono_fast_ns();
}

static __always_inline enum closed gate_closed(void)
{
	u32 closed = smp_load_acquire(&rules.closed); /* before rules.opened */

	if (unlikely(closed))
		return closed;
	/* It does not depend on a timer or a worker, which a stalled machine may not run. */
	if (READ_ONCE(rules.beats) && time_after(jiffies, READ_ONCE(rules.beat_by)))
		return CLOSED_HEARTBEAT;
	return OPEN;
}

/* From 1 to 2N-1, N on the average. */
static __always_inline u32 gate_draw(struct counters *c, u32 ratio)
{
	u32 r = c->random;

	r ^= r << 13;
	r ^= r >> 17;
	r ^= r << 5;
	c->random = r;
	return 1 + (u32)(((u64)r * (2 * ratio - 1)) >> 32);
}

/*
 * Whether the sampling ratio leaves this entry out. The gap to the next one taken
 * is drawn anew each time: a fixed gap would see only one of two threads that take
 * turns on a CPU.
 */
static __always_inline bool gate_skips(void)
{
	u32 ratio = READ_ONCE(rules.ratio);
	struct counters *c;

	if (likely(ratio <= 1))
		return false;
	c = this_cpu_ptr(counters);
	if (!c->gap)
		c->gap = gate_draw(c, ratio);
	c->gap = min(c->gap, 2 * ratio) - 1;
	if (c->gap)
		return true;
	c->gap = gate_draw(c, ratio);
	return false;
}

/* Divides the time since the last call by what kept the module from looking. */
static void gate_account(void)
{
	u64 now = clock_ns(), past = now > state.accounted ? now - state.accounted : 0;
	u64 fresh_until, fresh = past;

	lockdep_assert_held(&lock);
	if (!rules.closed && state.heartbeat_ms) {
		fresh_until = state.beat_ns + state.heartbeat_ms * (u64)NSEC_PER_MSEC;
		fresh = fresh_until > state.accounted ? min(past, fresh_until - state.accounted) : 0;
		state.time[CLOSED_HEARTBEAT] += past - fresh;
	}
	state.time[rules.closed] += fresh;
	state.accounted = max(now, state.accounted);
}

static void gate_apply(void)
{
	u32 closed = !state.gate ? CLOSED_GATE : !state.duty_on ? CLOSED_DUTY : OPEN;

	gate_account();
	if (closed == OPEN && rules.closed != OPEN)
		WRITE_ONCE(rules.opened, clock_ns());
	smp_store_release(&rules.closed, closed);
}

static void gate_set(bool open)
{
	state.gate = open;
	gate_apply();
}

static bool gate_expired(void)
{
	return rules.beats && time_after(jiffies, rules.beat_by);
}

static void gate_beat(void)
{
	gate_account();
	state.beat_ns = clock_ns();
	if (gate_expired()) {
		state.lapses++;
		WRITE_ONCE(rules.opened, state.beat_ns);
		smp_wmb();
	}
	WRITE_ONCE(rules.beat_by, jiffies + msecs_to_jiffies(state.heartbeat_ms));
	WRITE_ONCE(rules.beats, state.heartbeat_ms != 0);
}

static void gate_set_heartbeat(u32 ms)
{
	gate_account();
	state.heartbeat_ms = ms;
	gate_beat();
}

static void duty_turn(struct work_struct *work);
static DECLARE_DELAYED_WORK(duty_work, duty_turn);

static void duty_schedule(void)
{
	u32 ms = state.duty_on ? state.duty_on_ms : state.duty_every_ms - state.duty_on_ms;

	state.duty_due = jiffies + msecs_to_jiffies(ms);
	schedule_delayed_work(&duty_work, msecs_to_jiffies(ms));
}

/*
 * A worker may be late: the time that was really looked at is what is told. One
 * that was on its way when the cycle was changed comes too early.
 */
static void duty_turn(struct work_struct *work)
{
	mutex_lock(&lock);
	if (state.duty_on_ms && !time_before(jiffies, state.duty_due)) {
		state.duty_on = !state.duty_on;
		gate_apply();
		duty_schedule();
	}
	mutex_unlock(&lock);
}

static void duty_set(u32 on_ms, u32 every_ms)
{
	cancel_delayed_work(&duty_work);
	state.duty_on_ms = on_ms;
	state.duty_every_ms = every_ms;
	state.duty_on = true;
	gate_apply();
	if (on_ms)
		duty_schedule();
}

/* Without the mutex: the worker takes it. */
static void duty_stop(void)
{
	mutex_lock(&lock);
	duty_set(0, 0);
	mutex_unlock(&lock);
	cancel_delayed_work_sync(&duty_work);
}

static void gate_open_clock(void)
{
	state.loaded = clock_ns();
	state.accounted = state.loaded;
}

#endif
