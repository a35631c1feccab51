// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// verbs are what is witnessed besides waits, by BPF on tracepoints and perf events only.
var verbs = []struct {
	id, title string
	means     []Means
}{
	{"block", "block requests", requestMeans},
	{"fs", "calls to file systems", fsMeans},
	{string(ProfileCPU), "where the CPU goes", profileMeans[ProfileCPU]},
	{string(ProfileOffCPU), "where threads are off their CPU", profileMeans[ProfileOffCPU]},
	{string(ProfileRunQ), "waits for a CPU", profileMeans[ProfileRunQ]},
}

// judgeVerbs tries each verb by its means, best first, as far as those work at all.
func (e *evidence) judgeVerbs(t trial, means []diagnosis.Means) (all []diagnosis.Verb) {
	by := map[string]*diagnosis.Means{}
	for i := range means {
		by[means[i].ID] = &means[i]
	}
	for _, v := range verbs {
		d := diagnosis.Verb{ID: v.id, Title: v.title, Verdict: diagnosis.Untried}
		var reasons []string
		for _, via := range v.means {
			verdict, reason := diagnosis.Usable, ""
			if m := by[string(via)]; m != nil { // else it is no means of waits
				verdict, reason = m.Verdict, m.Reason
			}
			if verdict == diagnosis.Usable {
				notes, err := t.verb(v.id, via)
				if err == nil {
					d = diagnosis.Verb{ID: v.id, Title: v.title, Verdict: diagnosis.Usable, Means: string(via), Notes: notes}
					break
				}
				verdict, reason = e.explainWhole(describe(via), err)
			}
			if verdict == diagnosis.Unusable {
				d.Verdict = verdict
			}
			reasons = append(reasons, fmt.Sprintf("%s: %s", via, reason))
		}
		if d.Verdict != diagnosis.Usable {
			d.Reason = strings.Join(reasons, "; ")
		}
		all = append(all, d)
	}
	return all
}

// verb loads and attaches what a verb needs, with its gate closed.
func (l *liveTrial) verb(id string, via Means) (notes []string, err error) {
	switch kind := ProfileKind(id); {
	case id == "fs":
		f, err := OpenFS(FSOptions{BTF: l.options.BTF, Via: via})
		if err != nil {
			return nil, err
		}
		return f.Facts().Notes, f.Close()
	case ProfileTables[kind] != nil:
		p, err := OpenProfile(kind, ProfileOptions{BTF: l.options.BTF, Via: via})
		if err != nil {
			return nil, err
		}
		return p.Facts().Notes, p.Close()
	}
	w, err := OpenRequests(RequestOptions{Records: true, Sums: true, Waits: true, BTF: l.options.BTF, Via: via})
	if err != nil {
		return nil, err
	}
	return w.Notes(), w.Close()
}
