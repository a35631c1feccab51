// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/iowitness/iowitness/request"

// repeats tells who used the same blocks again and again; nil: nobody looked.
func repeats(all []request.Repeat, names request.Names) any {
	if all == nil {
		return nil
	}
	return list(all, func(r *request.Repeat) any {
		return inOrder(request.RepeatFields, map[string]any{
			"device": deviceOrNumber(names, r.Disk), "op": r.Op.String(), "pid": r.PID, "comm": name(r.Comm), "file": name(r.Path(names)),
			"extents": r.Extents, "bytes": r.Bytes, "requests": r.Requests, "times_min": r.Least, "times_max": r.Most, "of": r.Own, "disk_percent": rounded(r.Share),
		})
	})
}
