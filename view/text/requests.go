// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
)

// RequestOptions choose how a summary of requests is shown. Of Options width, colour, ASCII and
// histogram count.
type RequestOptions struct {
	Options
	HeatMap bool
}

// Requests shows a summary of block requests.
func Requests(w io.Writer, s *request.Summary, names request.Names, o RequestOptions) error {
	p := &requestsPage{page: page{width: o.Width}, s: s, names: names, o: o}
	p.head()
	if s.Total.Count > 0 || len(s.Devices) > 0 {
		p.body()
	}
	p.victim()
	p.findings()
	p.foot()
	b := bufio.NewWriter(w)
	for _, l := range p.lines {
		b.WriteString(strings.TrimRight(l.render(&o.Options), " "))
		b.WriteByte('\n')
	}
	return b.Flush()
}

// requestsPage is a summary as it grows.
type requestsPage struct {
	page
	s     *request.Summary
	names request.Names
	o     RequestOptions
}

func (p *requestsPage) head() {
	s := p.s
	parts := []string{strings.TrimSpace("iowitness " + quote(s.Version))}
	if s.Kernel != "" {
		parts = append(parts, "Linux "+quote(s.Kernel))
	}
	if s.Source != "" {
		parts = append(parts, "from "+quote(s.Source))
	}
	switch {
	case !s.Start.IsZero() && !s.End.IsZero():
		parts = append(parts, fmt.Sprintf("%s to %s (%s)", s.Start.Format("15:04:05"), s.End.Format("15:04:05"), durationOf(s.Wall)))
	case s.Wall > 0:
		parts = append(parts, durationOf(s.Wall))
	}
	p.hang("", strings.Join(parts, dot), dim)
	p.hang("", strings.Join(p.totalWords(), dot), bold)
}

// totalWords tell the whole in a line.
func (p *requestsPage) totalWords() []string {
	t := &p.s.Total
	if t.Count == 0 {
		return []string{"no block request completed"}
	}
	requests, bytes := plural(t.Count, "request"), Bytes(t.Moved)
	if rate, ok := p.s.Rate(t.Count); ok {
		requests += fmt.Sprintf(" (%s a second)", rateWords(rate))
	}
	if rate, ok := p.s.Rate(t.Moved); ok {
		bytes += fmt.Sprintf(" (%s/s)", Bytes(uint64(rate+0.5)))
	}
	parts := []string{requests, bytes, p.mixWords()}
	if percent, ok := t.SequentialPercent(); ok {
		parts = append(parts, Percent(percent)+"% sequential")
	}
	if depth, ok := t.MeanDepth(); ok {
		parts = append(parts, fmt.Sprintf("depth %s on average, %s at most", rateWords(depth), Count(t.DepthMax)))
	}
	if t.Errors > 0 {
		parts = append(parts, Count(t.Errors)+" failed")
	}
	return parts
}

func (p *requestsPage) mixWords() string {
	t := &p.s.Total
	var parts []string
	for k, n := range t.Kinds {
		if n > 0 {
			parts = append(parts, share(n, t.Count)+" "+event.OpKind(k).String())
		}
	}
	return strings.Join(parts, ", ")
}

// rateWords is a number that may be small, such as of requests a second.
func rateWords(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	}
	return significant(v)
}

func (p *requestsPage) body() {
	p.phases()
	timing := []string{"device_mean_ns", "total_mean_ns", "total_p50_ns", "total_p99_ns", "total_max_ns", "errors"}
	load := []string{"requests", "requests_per_second", "bytes_per_second"}
	kinds := []string{"reads", "writes", "flushes", "discards"}
	with := func(lists ...[]string) (ids []string) {
		for _, l := range lists {
			ids = append(ids, l...)
		}
		return ids
	}
	p.table("DEVICES", p.s.Devices, with([]string{"device"}, load, kinds, []string{"sequential_percent", "depth_mean", "depth_max"}, timing))
	p.table("PARTITIONS", p.s.Partitions, with([]string{"device", "disk"}, load, kinds, []string{"sequential_percent"}, timing))
	p.issuers()
	p.table("PROCESSES", p.s.Processes, with([]string{"pid", "comm"}, load, kinds, []string{"share_percent"}, timing, []string{"waits_ns"}))
	if named(p.s.Cgroups, func(r *request.Row) bool { return r.Cgroup != 0 }) {
		p.table("CGROUPS", p.s.Cgroups, with(load, kinds, []string{"share_percent"}, timing, []string{"uncharged", "cgroup"}))
	}
	if named(p.s.Files, func(r *request.Row) bool { return r.File.Source != event.NoFile }) {
		p.table("FILES", p.s.Files, with(load, kinds, []string{"share_percent"}, timing, []string{"file"}))
	}
	p.table("OPERATIONS", p.s.Ops, with([]string{"op"}, load, []string{"sequential_percent"}, timing))
	p.histograms()
	if p.o.HeatMap {
		p.heatMap()
	}
}

// named says that a list has more to tell than that nothing is known.
func named(rows []request.Row, is func(*request.Row) bool) bool {
	for i := range rows {
		if is(&rows[i]) {
			return true
		}
	}
	return false
}

func (p *requestsPage) phases() {
	t := &p.s.Total
	cells := [][]string{}
	for i, phase := range t.Phases {
		mean, ok := phase.Mean()
		if !ok {
			continue
		}
		title := request.PhaseTitles[i]
		cells = append(cells, []string{title[0], Count(phase.Count), Duration(mean), Duration(phase.Max), title[1]})
	}
	if len(cells) == 0 {
		return
	}
	p.section("PHASES")
	p.grid([]request.Info{
		{Title: "PHASE", Priority: 99},
		{Title: "REQUESTS", Right: true, Priority: 60},
		{Title: "MEAN", Right: true, Priority: 98},
		{Title: "MAX", Right: true, Priority: 97},
		{Title: "WHAT", Priority: 70, Flex: true, Width: 12},
	}, cells)
}

// issuers tell who shared each disk, and who had each partition.
func (p *requestsPage) issuers() {
	p.issuersOf("WHO SHARED THE DEVICE, by time in it", false, 2)
	p.issuersOf("WHO HAD THE PARTITION, by time in its disk", true, 1)
}

// issuersOf tell of devices that so many had at least.
func (p *requestsPage) issuersOf(title string, partitions bool, least int) {
	first := true
	for i := range p.s.Issuers {
		sharing := &p.s.Issuers[i]
		if len(sharing.Issuers) < least || sharing.Partition != partitions {
			continue
		}
		if first {
			p.section(title)
			first = false
		}
		p.hang("  "+deviceName(p.names, sharing.Device)+": ", issuerWords(sharing.Issuers), plain)
	}
}

const issuersTold = 5

func issuerWords(rows []request.Row) string {
	var parts []string
	more, left := 0, 0.0
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Count == 0:
		case r.Others > 0 || len(parts) == issuersTold:
			more, left = more+max(r.Others, 1), left+r.Share
		default:
			parts = append(parts, issuerName(r)+" "+amountWords(r))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%s more %s%%", Count(uint64(more)), Percent(left)))
	}
	return strings.Join(parts, ", ")
}

func issuerName(r *request.Row) string {
	if r.Rest {
		return restWords
	}
	if r.PID == 0 && r.Comm == "" {
		return "not known"
	}
	return processName(r.Comm, r.PID)
}

// amountWords are the share, or the number of requests where their times are not known.
func amountWords(r *request.Row) string {
	if r.Phases[event.PhaseDevice].Count == 0 {
		return plural(r.Count, "request")
	}
	return Percent(r.Share) + "%"
}
