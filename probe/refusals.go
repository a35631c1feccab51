// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"
)

// refusals are means that did not open, in the order in which they were tried.
type refusals struct {
	host *evidence // read when somebody asks
	all  []refusal
}

type refusal struct {
	via Means
	err error
}

// add notes why a means did not open.
func (r *refusals) add(via Means, err error) { r.all = append(r.all, refusal{via, err}) }

// words have for each the reason that the doctor gives for it. The host is read and tried for that: not
// where another means opens and nobody asks.
func (r *refusals) words() (words []string) {
	if r.host == nil {
		r.host = gatherHost("/", DiagnoseOptions{})
		r.host.has = newLiveTrial(DiagnoseOptions{}).features()
	}
	for _, each := range r.all {
		_, why := r.host.explain(describe(each.via), each.err)
		words = append(words, fmt.Sprintf("%s: %s", each.via, why))
	}
	return words
}

func (r *refusals) String() string { return strings.Join(r.words(), "; ") }
