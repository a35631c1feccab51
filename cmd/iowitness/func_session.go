// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// callViews are how calls are shown.
type callViews struct {
	hist, tree bool
	top        int
	interval   time.Duration
	slower     time.Duration // of trees: the outermost call
}

// callSession is one run of the witness of calls.
type callSession struct {
	flags   *callFlags
	plan    *callPlan
	views   *callViews
	witness probe.CallWitness
	names   *names
	cgroups *identity.Cgroups
	system  *system
	guard   *sideGuard
	trees   call.Trees
	clock   request.Clock
	out     *os.File
	options text.Options
	opened  time.Time
	losses  lossesTold
	before  map[event.CallKey]*event.CallSum // of the last interval
	notes   []string
	scope   string
	failed  error // of the first line that could not be written
	singly  int   // functions, if they are so many that were attached one by one; else 0
	told    uint64
}

// run witnesses functions until it is told to end.
func (c *callFlags) run(s *streams, p *callPlan, v *callViews) error {
	return runSession(s, c.Output, c.command != nil, func(out *os.File, end *ending) (*callSession, error) {
		if err := p.resolve(c); err != nil {
			return nil, err
		}
		r := &callSession{flags: c, plan: p, views: v, out: out, names: newNames("/"), losses: lossesTold{}}
		return r, r.open(s, end)
	}, (*callSession).watch)
}

func (r *callSession) open(s *streams, end *ending) (err error) {
	c, p := r.flags, r.plan
	o := probe.CallOptions{
		Sums: p.sums, Records: p.lists, Stacks: p.stacks, KeyWords: p.words, Budget: c.MaxRate, Ratio: c.Sample,
		Inside: p.root != "", UsesComm: usesComm(c.Where, p.by, p.prints),
		PIDs: c.Pid, Comm: c.Comm, Follow: c.command != nil, IncludeSelf: c.IncludeSelf, Silence: defaultSilent,
		Via: c.via, MaxActive: c.MaxDepth, Cancelled: end.asked.Load, RingBytes: c.Buffer << 10,
		Lean: func() error { return p.leaner(c) },
		OneByOne: func(n int) {
			r.singly = n
			fmt.Fprintf(s.err, "iowitness: %d functions are attached one by one, which may take minutes; Ctrl-C ends it\n", n)
		},
	}
	if !r.views.tree {
		o.Slower = c.Slower
	}
	for _, k := range p.keys {
		switch k {
		case call.ByComm:
			o.By.Comm = true
		case call.ByProcess:
			o.By.Process = true
		case call.ByThread:
			o.By.Thread = true
		case call.ByCPU:
			o.By.CPU = true
		case call.ByCgroup:
			o.By.Cgroup = true
		case call.ByStack:
			o.By.Stack = true
		}
	}
	if o.Cgroup, err = findCgroup("/", c.Cgroup); err != nil {
		return err
	}
	r.cgroups = identity.NewCgroups(func() []identity.CgroupHierarchy { return cgroupHierarchies("/", "memory", "blkio", "pids", "cpu") })
	r.scope = r.scopeWords()
	if p.stacks || o.By.Stack {
		go r.names.symbols()
	}
	if r.witness, err = probe.OpenCallWitness(p.find, p.targets, o); err != nil {
		return err
	}
	if p.denied > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d functions that the patterns name are on paths that are never probed; see: iowitness list", p.denied))
	}
	if len(p.left) > 0 {
		r.notes = append(r.notes, "not told by "+string(r.witness.Means())+", which reads no memory of the kernel: "+strings.Join(p.left, ", "))
	}
	for _, t := range r.witness.Targets() {
		if t != nil && t.Changed != "" && t.Program != nil {
			r.notes = append(r.notes, t.Changed+": registers are arg1 to arg6")
		}
	}
	return nil
}

// usesComm says whether an expression may speak of the thread's name.
func usesComm(where string, lists ...[]string) bool {
	all := where
	for _, l := range lists {
		all += " " + strings.Join(l, " ")
	}
	return strings.Contains(all, "comm")
}

func (r *callSession) scopeWords() string {
	c := r.flags
	return strings.Join(whose(c.Pid, c.Comm, c.Cgroup, c.command != nil), ", ")
}

func (r *callSession) interrupt() { r.witness.Interrupt() }

func (r *callSession) close() error {
	if r.guard != nil {
		r.guard.meter.close()
	}
	return r.witness.Close()
}

// watch opens the gate, shows what comes, and tells at the end what was counted.
func (r *callSession) watch(s *streams, end *ending) (err error) {
	r.opened, r.system = time.Now(), newSystem("/")
	r.guard = newCallGuard(r.witness, r.flags.Sample, r.flags.MaxCost, r.names.facts.BPFStats == kernel.On || r.witness.Means() == probe.Tracefs)
	if r.clock, err = clockNow(); err != nil {
		return err
	}
	terminal := text.Inspect(r.out, os.Getenv)
	r.options = terminal.Apply(text.Options{Histogram: r.views.hist})
	defer end.after(r.flags.For, r.flags.MaxTime)()
	if err := r.witness.Start(); err != nil {
		return err
	}
	ended := func() error { return nil }
	if r.flags.command != nil {
		if ended, err = r.startCommand(s, end); err != nil {
			return err
		}
	} else if text.Inspect(s.err, os.Getenv).IsTerminal && (r.plan.lists || r.flags.Json || r.flags.Output != "") {
		fmt.Fprintf(s.err, "iowitness: witnessing %d functions by %s; Ctrl-C ends it\n", len(r.plan.targets), r.witness.Means())
	}
	if r.plan.lists && !r.views.tree && !r.flags.Json {
		r.failed = text.CallHeader(r.out, r.options)
	}
	live := r.live(terminal)
	for begin := r.opened; r.failed == nil && !end.reached() && !r.guard.stopped; {
		if err := r.second(end); err != nil {
			return errors.Join(err, ended())
		}
		if live != nil && (r.views.interval == 0 || time.Since(begin) >= r.views.interval) {
			r.failed = reporting(live(begin))
			begin = time.Now()
		}
	}
	r.notes = append(r.notes, end.ranLonger()...)
	err = r.witness.Pause()
	slowly := r.singly > 0 && !r.guard.stopped
	if !slowly {
		err = errors.Join(err, r.witness.Detach())
	}
	err = errors.Join(err, r.finish(s, end, live != nil && r.flags.Json))
	if slowly { // nobody should have to wait for the report
		fmt.Fprintf(s.err, "iowitness: detaching from %d functions one by one\n", r.singly)
		err = errors.Join(err, r.witness.Detach())
	}
	if r.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return errors.Join(err, ended())
}

// startCommand runs the command, and ends with it.
func (r *callSession) startCommand(s *streams, end *ending) (ended func() error, err error) {
	c, err := startChild(r.witness, r.flags.command, *s, end)
	if err != nil {
		return nil, err
	}
	return c.ends(end), nil
}

// second takes what comes for up to a second.
func (r *callSession) second(end *ending) error {
	length := guardEvery
	if r.views.interval > 0 {
		length = min(length, r.views.interval)
	}
	for until := end.by(length); r.failed == nil && !end.reached() && time.Now().Before(until); {
		step := time.Now().Add(100 * time.Millisecond)
		if until.Before(step) {
			step = until
		}
		if err := r.witness.Drain(step, r.take); err != nil {
			return err
		}
	}
	if err := r.witness.NextEpoch(); err != nil {
		return err
	}
	return r.guard.tick()
}

func (r *callSession) take(record any) {
	c, ok := record.(*event.Call)
	if !ok || r.failed != nil {
		return
	}
	if !r.views.tree {
		r.told++
		r.failed = r.line(c)
		return
	}
	tree := r.trees.Add(c)
	if tree == nil || time.Duration(tree.Call.NS) < r.views.slower {
		return
	}
	r.told++
	if r.flags.Json {
		r.failed = json.WriteCallTree(r.out, tree, r.lineOf, r.began)
		return
	}
	r.failed = text.CallTree(r.out, tree, r.lineOf, r.began, r.options)
}

func (r *callSession) lineOf(c *event.Call) call.Line {
	l := r.plan.all.LineOf(c)
	if r.plan.stacks && len(c.Stack) > 0 {
		l.Stack = r.frames(c.Stack)
	}
	return l
}

func (r *callSession) began(c *event.Call) time.Time {
	return r.clock.Epoch.Add(time.Duration(int64(c.Start) - int64(r.clock.Zero)))
}

func (r *callSession) line(c *event.Call) error {
	l := r.lineOf(c)
	if r.flags.Json {
		return json.WriteCall(r.out, &l, r.began(c))
	}
	return text.CallLine(r.out, &l, r.began(c), r.options)
}

// frames are the names of a stack's functions, without the probe's own.
func (r *callSession) frames(stack []uint64) []string {
	symbols, err := r.names.symbols()
	frames := make([]string, 0, len(stack))
	for _, address := range stack {
		title := fmt.Sprintf("%#x", address)
		if err == nil {
			if name, offset, ok := symbols.Lookup(address); ok {
				title = fmt.Sprintf("%s+%#x", name, offset)
			}
		}
		if len(frames) == 0 && probe.IsProbesOwn(title) {
			continue
		}
		frames = append(frames, title)
	}
	return frames
}

// Process, Cgroup and Frames name what keys tell by number.
func (r *callSession) Process(pid uint32) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprint(pid)
	}
	return fmt.Sprintf("%d %s", pid, strings.TrimSuffix(string(comm), "\n"))
}

func (r *callSession) Cgroup(id uint64) string {
	if path := r.cgroups.Path(id); path != "" {
		return path
	}
	return fmt.Sprintf("cgroup %d", id)
}

func (r *callSession) Frames(key uint64) []string {
	if key == 0 {
		return nil
	}
	return r.frames(r.witness.Stack(key))
}

// live shows what each interval has counted; nil: only the end does.
func (r *callSession) live(terminal text.Terminal) func(time.Time) error {
	switch {
	case !r.plan.sums:
		return nil
	case !r.isLive(), !r.flags.Json && !terminal.IsTerminal && r.views.interval == 0:
		return nil
	case r.flags.Json || !terminal.IsTerminal:
		return func(begin time.Time) error {
			report, err := r.report(begin, true)
			if err != nil {
				return err
			}
			if err := r.tell(r.out, report); err != nil || r.flags.Json {
				return err
			}
			return blankLine(r.out)
		}
	}
	screen := text.NewLive(r.out, terminal, r.options)
	return func(time.Time) error {
		report, err := r.report(r.opened, false)
		if err != nil {
			return err
		}
		return screen.PaintCalls(report)
	}
}

// report is what was counted since an interval began, or since the start.
func (r *callSession) report(begin time.Time, interval bool) (*call.Report, error) {
	sums, err := r.witness.Sums()
	if err != nil {
		return nil, err
	}
	shown := sums
	if interval {
		shown = call.Since(sums, r.before)
		r.before = sums
	}
	o := call.Options{Functions: r.plan.all, Keys: r.plan.keys, Names: r, Top: r.views.top}
	report := call.Build(shown, o)
	balances, err := r.witness.Balances()
	if err != nil {
		return nil, err
	}
	for i, b := range balances {
		report.UnderWay += b.UnderWay()
		if r.witness.Targets()[i] != nil {
			report.Functions++
		}
	}
	report.Version, report.Kernel, report.Means = version(), r.names.facts.Release, string(r.witness.Means())
	report.Scope, report.Where, report.Start, report.End = r.scope, r.flags.Where, begin, time.Now()
	report.Ratio = r.guard.ratio
	if report.Lost, err = r.lost(interval); err != nil {
		return nil, err
	}
	_, report.Cost = r.system.interval(report.End.Sub(begin))
	if r.witness.Means() != probe.Tracefs { // of which the kernel measures nothing
		r.guard.meter.tell(&report.Cost)
	}
	report.Notes = append(append(append(report.Notes, r.witness.Notes()...), r.guard.said...), r.notes...)
	return report, nil
}

func (r *callSession) lost(interval bool) ([]snapshot.Loss, error) {
	now, err := r.witness.Losses()
	if err != nil {
		return nil, err
	}
	if !interval {
		return lossesTold{}.since(now), nil
	}
	return r.losses.since(now), nil
}

// finish tells what is left, and what went missing.
func (r *callSession) finish(s *streams, end *ending, told bool) error {
	if err := r.witness.Drain(time.Unix(1, 0), r.take); err != nil {
		return err
	}
	if !r.plan.sums {
		return r.foot(s)
	}
	if told {
		return nil
	}
	report, err := r.report(r.opened, false)
	if err != nil {
		return err
	}
	return errors.Join(r.failed, end.tell(func(out *os.File) error { return r.tell(out, report) }))
}

// tell writes a report of sums.
func (r *callSession) tell(out *os.File, report *call.Report) error {
	if r.flags.Json {
		return json.WriteCalls(out, report)
	}
	terminal := text.Inspect(out, os.Getenv)
	if terminal.IsTerminal && r.isLive() {
		if err := blankLine(out); err != nil {
			return err
		}
	}
	return text.Calls(out, report, terminal.Apply(text.Options{Histogram: r.views.hist}))
}

// isLive says whether intervals are shown one by one.
func (r *callSession) isLive() bool {
	return r.flags.command == nil && (r.flags.For == 0 || r.views.interval > 0)
}

// foot tells of a list what it does not: it goes where messages go.
func (r *callSession) foot(s *streams) error {
	lost, err := r.lost(false)
	if err != nil {
		return err
	}
	parts := []string{fmt.Sprintf("%d calls told, by %s", r.told, r.witness.Means())}
	for _, l := range lost {
		if l.Count > 0 && !l.Harmless {
			parts = append(parts, fmt.Sprintf("%d %s", l.Count, l.Title))
		}
	}
	if r.trees.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d calls left out of trees that were too large", r.trees.Dropped))
	}
	if r.trees.Orphans > 0 {
		parts = append(parts, fmt.Sprintf("%d calls whose outermost call was not told", r.trees.Orphans))
	}
	parts = append(append(append(parts, r.witness.Notes()...), r.guard.said...), r.notes...)
	fmt.Fprintf(s.err, "iowitness: %s\n", strings.Join(parts, "; "))
	return reporting(r.failed)
}
