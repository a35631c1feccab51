// SPDX-License-Identifier: Apache-2.0

package diagnosis

// Catalog is what can be probed on a host: functions, tracepoints, and the structs
// that functions get.
type Catalog struct {
	Version     string
	Kernel      string   // release; "": unknown
	Patterns    []string // what was asked for; none: everything is counted, and nothing listed
	Means       []CatalogMeans
	Matched     int // functions that the patterns mean, or that there are
	Refused     int // of these, those that no means could probe, wherever it works
	Functions   []Probeable
	Tracepoints []Tracepoint
	Structs     []Struct
	Notes       []string
}

// CatalogMeans is a means of witnessing functions, tried once for all of them.
type CatalogMeans struct {
	ID        string
	Verdict   Verdict
	Reason    string // "": it is usable
	Functions int    // functions that it could probe, as far as is known, where it is usable
}

// Usable says whether any means can probe functions here.
func (c *Catalog) Usable() bool {
	for i := range c.Means {
		if c.Means[i].Verdict == Usable {
			return true
		}
	}
	return false
}

// Probeable is a function, with what is for and against probing it.
type Probeable struct {
	Name        string
	Module      string   // "": the kernel itself
	Signature   string   // as in C; "": its types are not known
	Arguments   []Typed  // none: it has none, or they are not known
	Returns     string   // the type of its result; "": not known
	Symbols     []string // those to probe
	NotSeen     []string // other symbols of it: what runs by them is not seen
	Changed     bool     // the compiler may have changed the arguments
	Copies      int      // functions of that name in the same place
	Blacklisted string   // on, off or unknown
	Traceable   string   // on, off or unknown
	Denied      string   // why iowitness refuses to probe it; "": it does not
	Means       []FunctionMeans
}

// By are the ids of the means that can probe the function.
func (p *Probeable) By() []string {
	var ids []string
	for i := range p.Means {
		if p.Means[i].Verdict == Usable {
			ids = append(ids, p.Means[i].ID)
		}
	}
	return ids
}

// Typed is a name with its type, as C writes it.
type Typed struct{ Name, Type string }

// Tracepoint is a place in the kernel's source that tells of itself.
type Tracepoint struct {
	Group     string // "": not known, since tracefs cannot be read
	Name      string
	Fields    []RecordField // of its records in tracefs; none: that cannot be read
	Arguments []Typed       // what BPF gets of it; none: not known
}

// RecordField is a field of a tracepoint's record.
type RecordField struct {
	Name, Type   string
	Offset, Size int // bytes
}

// Struct are the fields of what a function gets or returns.
type Struct struct {
	Function string
	Value    string // the expression that has the type
	Type     string
	Members  []StructMember
}

// StructMember is a field, by the expression that reads it.
type StructMember struct {
	Path, Type string
	Offset     int // bytes
	Bits       int // width of a bit field; 0: it is none
}
