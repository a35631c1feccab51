// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/iowitness/iowitness/request"

// victim tells who shared disks with a process while it was slow.
func victim(v *request.Suffering, names request.Names) any {
	if v == nil {
		return nil
	}
	values := map[string]any{
		"name": quote(v.Name), "comm": name(v.Comm), "waits": v.All, "slow_waits": v.Slow, "slow_unplaced": v.Unplaced,
		"devices": list(v.Crowds, func(c *request.Crowd) any { return crowd(c, names) }),
	}
	if v.All > 0 {
		values["pid"] = v.PID
	}
	if v.Slow > 0 {
		values["slow_least_ns"] = v.Least
	}
	return inOrder(request.VictimFields, values)
}

func crowd(c *request.Crowd, names request.Names) object {
	return inOrder(request.CrowdFields, map[string]any{
		"device": deviceOrNumber(names, c.Disk), "waits": c.Waits, "wait_ns": c.NS, "wait_max_ns": c.Max,
		"processes": list(c.Neighbours, func(n *request.Neighbour) any {
			return inOrder(request.NeighbourFields, map[string]any{
				"pid": n.PID, "comm": name(n.Comm), "itself": n.Itself, "requests": n.Requests, "bytes": n.Bytes,
				"device_ns": n.NS, "device_percent": rounded(n.Percent),
			})
		}),
	})
}

func victimSchema() object {
	crowds := schemaOf(described(request.CrowdFields), map[string]object{
		"processes": {{"items", schemaOf(described(request.NeighbourFields), nil)}},
	})
	return schemaOf(described(request.VictimFields), map[string]object{"devices": {{"items", crowds}}})[1:] // its type is the table's
}
