// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"
)

// refusals are means that did not open, each with the reason that the doctor gives for it.
type refusals struct {
	host  *evidence // read at the first of them
	words []string
}

// add notes why a means did not open.
func (r *refusals) add(via Means, err error) {
	if r.host == nil {
		r.host = gatherHost("/", DiagnoseOptions{})
		r.host.has = newLiveTrial(DiagnoseOptions{}).features()
	}
	_, why := r.host.explain(describe(via), err)
	r.words = append(r.words, fmt.Sprintf("%s: %s", via, why))
}

func (r *refusals) String() string { return strings.Join(r.words, "; ") }
