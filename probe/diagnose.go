// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// DiagnoseOptions say how to look at a host.
type DiagnoseOptions struct {
	BTF     string // file with the kernel's BTF, as of Options
	Version string // of iowitness, for the report
}

// Diagnose finds out by trying which means work on the running kernel, and
// explains from the files below root ("/") why others do not. It attaches
// programs that do nothing for a moment, and leaves nothing behind. It needs no
// privileges, and says what it could not try without them.
func Diagnose(root string, o DiagnoseOptions) *diagnosis.Report {
	return diagnose(gather(root, o), newLiveTrial(o), o)
}

func diagnose(e *evidence, t trial, o DiagnoseOptions) *diagnosis.Report {
	e.ask(t)
	r := &diagnosis.Report{Version: o.Version, Kernel: e.facts.Release}
	verdicts := map[Means]diagnosis.Verdict{}
	for i := range Descriptions {
		d := &Descriptions[i]
		m := e.judge(d, t)
		verdicts[d.Means] = m.Verdict
		r.Means = append(r.Means, m)
	}
	markUsed(r.Means)
	r.Verbs = e.judgeVerbs(t, r.Means)
	r.Functions = e.functions(t, verdicts)
	r.Facts = e.tellFacts()
	r.Notes = e.notes()
	return r
}

// judge tries a means and, if the smallest thing works, what iowitness attaches by it.
func (e *evidence) judge(d *Description, t trial) diagnosis.Means {
	m := diagnosis.Means{ID: string(d.Means), Title: d.Title, Verdict: diagnosis.Usable, Needs: d.Needs, Loses: d.Loses}
	err := t.means(d.Means)
	switch {
	case d.Means == Taskstats:
		e.judgeTaskstats(&m, err)
	case err != nil:
		m.Verdict, m.Reason = e.explain(d, err)
	case d.Means == Kmod && e.cannotBuild() != "":
		m.Verdict, m.Reason = diagnosis.Unusable, e.cannotBuild()
	case d.bpf && e.has.ReadKernel == kernel.Absent:
		m.Verdict, m.Reason = diagnosis.Unusable, e.cannotRead()
	default:
		notes, whole := t.whole(d.Means)
		m.Notes = notes
		if whole != nil {
			m.Verdict, m.Reason = e.explainWhole(d, whole)
		}
	}
	return m
}

// markUsed finds what a run without --via takes.
func markUsed(means []diagnosis.Means) {
	for _, p := range preference {
		for i := range means {
			if means[i].ID == string(p) && means[i].Verdict == diagnosis.Usable {
				means[i].Used = true
				return
			}
		}
	}
}

// judgeTaskstats: /proc alone is enough for the coarsest figures.
func (e *evidence) judgeTaskstats(m *diagnosis.Means, err error) {
	if !e.procReadable {
		m.Verdict, m.Reason = diagnosis.Unusable, "/proc cannot be read: mount it with: mount -t proc proc /proc"
		return
	}
	if err != nil {
		_, reason := e.explain(describe(Taskstats), err)
		m.Notes = append(m.Notes, "delays are not known, waits are only sighted in /proc: "+reason)
	}
	if note := delayacctNote(e.facts.TaskDelayacct); note != "" {
		m.Notes = append(m.Notes, note)
	}
}

func delayacctNote(s kernel.Setting) string {
	if s != kernel.Off {
		return ""
	}
	return "kernel.task_delayacct is 0, so delays are not known, which is not 0: sysctl kernel.task_delayacct=1; threads that began before stay at 0"
}

// notes are what is to be said of the whole.
func (e *evidence) notes() []string {
	var notes []string
	if missing := e.rights.Missing(); len(missing) > 0 {
		notes = append(notes, e.rights.Sentence()+"; what needs them could not be tried")
	}
	if !e.rights.Known {
		notes = append(notes, "this process's capabilities cannot be read; is /proc mounted?")
	}
	if e.config.Source == "" {
		notes = append(notes, "the kernel's configuration is not there (/proc/config.gz or /boot/config-RELEASE), so missing options cannot be named")
	}
	if e.noTargets != nil {
		notes = append(notes, e.noTargets.Error())
	}
	if e.tracing.Ftrace == kernel.Off {
		notes = append(notes, ftraceOff)
	}
	return notes
}
