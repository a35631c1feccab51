// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/view/csv"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// blockCmd tells of block requests, one by one or in sum, live or from a recording.
type blockCmd struct {
	For      time.Duration `help:"Watch for this long, then end." placeholder:"10s"`
	Summary  bool          `help:"Sum up instead: by device, process, cgroup, file and operation, with the time in each phase."`
	Heatmap  bool          `help:"Show how long requests took over time, too; with --summary."`
	Victim   string        `help:"Tell who had the device while requests of this process were slow, with --summary: its pid, or its threads' name." placeholder:"PID|NAME"`
	Slow     time.Duration `help:"Which of the victim's requests are slow; by default the slowest tenth." placeholder:"10ms"`
	Repeats  bool          `help:"Tell who uses the same blocks again and again, too; with --summary."`
	Import   *string       `help:"Analyse a recording instead: files of blktrace (their common name, one of them, their directory, or one that blkparse merged), or the text of perf script; - is standard input." placeholder:"FILE"`
	Interval time.Duration `type:"interval" help:"Width of a column of the heat map." default:"1s"`

	Device   *string       `help:"Only requests of this disk or partition." placeholder:"NAME"`
	Pid      []uint32      `help:"Only requests for these processes."`
	Comm     string        `help:"Only requests for threads of this name." placeholder:"NAME"`
	Cgroup   string        `help:"Only requests charged to this cgroup or one below." placeholder:"PATH"`
	Op       []string      `help:"Only these operations: read, write, flush, discard, other." placeholder:"OP"`
	Min      time.Duration `aliases:"slower,min-latency" help:"Only requests that took at least this long; also --slower." placeholder:"1ms"`
	MinBytes uint64        `type:"size" help:"Only requests of at least so many bytes." placeholder:"4K"`
	Layer    string        `help:"Requests of devices (rq), bios on stacked devices (bio), or both (all)." default:"all" placeholder:"LAYER"`

	Columns []string `help:"Show these fields too; see: iowitness fields." placeholder:"FIELD"`
	Wide    bool     `help:"Show all fields."`
	Top     int      `type:"rows" help:"Rows of each list of the summary (0: all)." default:"10" placeholder:"N"`
	Csv     bool     `help:"Print comma-separated values." xor:"form"`
	Json    bool     `help:"Print JSON: an object a line, or with --summary one document." xor:"form"`
	Schema  bool     `help:"Print the JSON schema of what --json prints, and watch nothing."`
	Output  string   `short:"o" help:"Write to this file instead." placeholder:"FILE"`

	Buffer      uint32        `type:"buffer" help:"KiB of the ring between kernel and program, a power of two, by default 8192." default:"8192"`
	MaxRate     uint32        `type:"count" help:"Lines a second for each CPU at most, by default 20,000; those beyond are counted." default:"20000" placeholder:"N"`
	MaxCost     float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before only one in some requests is listed, then it detaches; 0: no limit." default:"25" placeholder:"PERCENT"`
	MaxTime     time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`
	Via         string        `help:"Witness only by this means: tp_btf or raw_tp." placeholder:"MEANS"`
	Btf         string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	IncludeSelf bool          `help:"Also show iowitness's own requests."`

	dev    event.Dev
	kinds  map[event.OpKind]bool // nil: all
	within string                // cgroup path
	via    probe.Means
}

// Validate checks what the flags' types cannot say.
func (c *blockCmd) Validate() error {
	switch {
	case c.Heatmap && !c.Summary:
		return errors.New("--heatmap goes with --summary")
	case c.Victim != "" && !c.Summary:
		return errors.New("--victim goes with --summary")
	case c.Repeats && !c.Summary:
		return errors.New("--repeats goes with --summary: a list tells repeats at its end")
	case c.Slow > 0 && c.Victim == "":
		return errors.New("--slow goes with --victim")
	case c.Victim != "" && (len(c.Pid) > 0 || c.Comm != "" || c.Cgroup != "" || len(c.Op) > 0 || c.Min > 0 || c.MinBytes > 0 || c.Layer != "all"):
		return errors.New("--victim needs all requests of a device: of the filters only --device goes with it")
	case c.Csv && c.Summary:
		return errors.New("--csv lists requests: it does not go with --summary")
	case c.Import != nil && (c.For > 0 || c.MaxTime > 0 || c.Via != "" || c.Btf != ""):
		return errors.New("--import reads a recording: --for, --max-time, --via and --btf do not go with it")
	case c.Import != nil && *c.Import == "":
		return errors.New("--import names no file")
	case c.Device != nil && *c.Device == "":
		return errors.New("--device names no device")
	}
	if err := oneOf("--layer", c.Layer, "all", "rq", "bio"); err != nil {
		return err
	}
	var err error
	if c.via, err = parseVia(c.Via, probe.ParseMeans); err != nil {
		return err
	}
	if c.via != "" && c.via != probe.TPBTF && c.via != probe.RawTP {
		return fmt.Errorf("--via: requests are witnessed by tp_btf or raw_tp, not by %s", c.via)
	}
	if _, err := request.Columns(c.Wide, c.Columns); err != nil {
		return err
	}
	return c.parseOps()
}

func (c *blockCmd) parseOps() error {
	if len(c.Op) == 0 {
		return nil
	}
	c.kinds = map[event.OpKind]bool{}
	for _, name := range c.Op {
		kind, err := choose("--op: no operation", name, 0, event.OpKinds-1)
		if err != nil {
			return err
		}
		c.kinds[kind] = true
	}
	return nil
}

// Run lists or sums up requests.
func (c *blockCmd) Run(s *streams) error {
	if c.Schema {
		if c.Summary {
			return writeTo(c.Output, s, json.WriteRequestsSchema)
		}
		return writeTo(c.Output, s, json.WriteLineSchema)
	}
	if c.Import != nil {
		return c.runImport(s)
	}
	var err error
	if c.Device != nil {
		if c.dev, err = findDevice("/", *c.Device); err != nil {
			return usageError{err}
		}
	}
	if c.Cgroup != "" {
		if _, err := findCgroup("/", c.Cgroup); err != nil {
			return err
		}
		c.within = cgroupWithin(c.Cgroup)
	}
	return c.runLive(s)
}

// isFiltered says whether some requests only are asked for.
func (c *blockCmd) isFiltered() bool {
	return c.dev != 0 || len(c.Pid) > 0 || c.Comm != "" || c.Cgroup != "" || c.kinds != nil || c.Min > 0 || c.MinBytes > 0 || c.Layer != "all"
}

// wants is the part of the filters that the kernel side does not do.
func (c *blockCmd) wants(o *event.IO, names request.Names) bool {
	switch {
	case c.kinds != nil && !c.kinds[o.Kind()]:
		return false
	case c.Layer == "rq" && o.Flags&event.IOBio != 0, c.Layer == "bio" && o.Flags&event.IOBio == 0:
		return false
	}
	return c.wantsOwner(o.Owner.Comm, o.Cgroup, names)
}

func (c *blockCmd) wantsOwner(comm string, cgroup uint64, names request.Names) bool {
	if c.Comm != "" && comm != c.Comm[:min(len(c.Comm), commBytes)] {
		return false
	}
	if c.within == "" || c.within == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(names.Cgroup(cgroup), c.within)
	return ok && (rest == "" || rest[0] == '/')
}

// wantsAll is wants for a recording, of which nobody has chosen anything yet.
func (c *blockCmd) wantsAll(o *event.IO, names request.Names) bool {
	if len(c.Pid) > 0 && !slices.Contains(c.Pid, o.Owner.PID) || uint64(o.Bytes) < c.MinBytes {
		return false
	}
	if c.dev != 0 && o.Dev != c.dev && o.Disk != c.dev {
		return false
	}
	if total, ok := o.Phase(event.PhaseTotal); c.Min > 0 && (!ok || total < uint64(c.Min)) {
		return false
	}
	return c.wants(o, names)
}

// requestLines is a list of requests in one of its forms.
type requestLines interface {
	Header() error
	Write(o *event.IO) error
	Flush() error
}

// unbuffered is a list that keeps nothing back, and has no head.
type unbuffered struct{ *json.Lines }

func (unbuffered) Header() error { return nil }
func (unbuffered) Flush() error  { return nil }

// newLines is a list of requests, of which not even the head is written yet.
func (c *blockCmd) newLines(out *os.File, names request.Names, clock request.Clock) (requestLines, error) {
	switch {
	case c.Csv:
		return csv.NewLines(out, names, clock), nil
	case c.Json:
		return unbuffered{json.NewLines(out, names, clock)}, nil
	}
	terminal := text.Inspect(out, os.Getenv)
	return text.NewLines(out, names, clock, text.LineOptions{Options: terminal.Apply(text.Options{Columns: c.Columns}), All: c.Wide})
}

// writeSummary writes a summary in the form that is asked for.
func (c *blockCmd) writeSummary(out *os.File, s *request.Summary, names request.Names) error {
	if c.Json {
		return json.WriteRequests(out, s, names, false)
	}
	terminal := text.Inspect(out, os.Getenv)
	return text.Requests(out, s, names, text.RequestOptions{Options: terminal.Apply(text.Options{Histogram: true}), HeatMap: c.Heatmap})
}

// newVictim is who was asked for by name, or by pid, for which global gives the kernel's; nil: nobody.
func (c *blockCmd) newVictim(global func(uint32) (uint32, error)) (*request.Victim, error) {
	if c.Victim == "" {
		return nil, nil
	}
	if asked, err := strconv.ParseUint(c.Victim, 10, 32); err == nil {
		pid, err := global(uint32(asked))
		return request.NewVictim(func(o *event.IO) bool { return o.Owner.PID == pid }, uint64(c.Slow)), err
	}
	name := c.Victim[:min(len(c.Victim), commBytes)]
	return request.NewVictim(func(o *event.IO) bool { return o.Owner.Comm == name }, uint64(c.Slow)), nil
}

// summary is of all that was collected.
func (c *blockCmd) summary(sums *request.Collector, victim *request.Victim, repeats *request.Repeats, o request.Options) *request.Summary {
	s := sums.Summary(o)
	if repeats != nil {
		s.Repeats, s.Missed = repeats.Found(), repeats.Missed
	}
	if victim != nil {
		s.Victim = victim.Suffering(c.Victim)
	}
	return s
}
