// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/tracefs"
)

// ListOptions say what to list. Without patterns everything is counted.
type ListOptions struct {
	Patterns    []string // of functions, or GROUP:NAME of tracepoints
	Tracepoints bool     // patterns are of tracepoints alone
	Fields      bool     // with the structs that functions get
	Of          []string // expressions whose structs are shown instead of the arguments'
	BTF         string   // file with the kernel's BTF
	Version     string   // of iowitness, for the document
}

// List tells what can be probed here, and how or why not. Means are tried once, for
// a function that does not matter; what is said of others is by the kernel's lists.
// It needs no privileges, and says what it could not read without them. Errors
// that wrap ErrNoFunction say that there is no such thing, and what is near.
func List(root string, o ListOptions) (*diagnosis.Catalog, error) {
	find, err := NewCallTargets(o.BTF)
	if err != nil {
		return nil, err
	}
	find.root = root
	c := &catalog{
		CallTargets: find, options: o,
		out: &diagnosis.Catalog{Version: o.Version, Patterns: o.Patterns},
	}
	for _, text := range o.Patterns {
		p, err := kernel.ParseFunctionPattern(text)
		if err != nil {
			return nil, noFunction{err}
		}
		c.patterns = append(c.patterns, p)
	}
	return c.out, c.fill()
}

// catalog is a list as it grows.
type catalog struct {
	*CallTargets
	options   ListOptions
	patterns  []kernel.FunctionPattern
	out       *diagnosis.Catalog
	names     btfNames
	blacklist kernel.Listing
	traceable kernel.Listing
	tracefs   *tracefs.FS // nil: it cannot be read, for the reason below
	noTracefs error
	met       map[string]bool     // patterns that mean something
	points    map[string][]string // tracepoints by their group; "": that is not known
}

func (c *catalog) fill() error {
	c.met = map[string]bool{}
	c.names.load(c.root, c.options.BTF)
	if c.tracefs, c.noTracefs = tracefs.Open(c.root); c.noTracefs == nil {
		defer c.tracefs.Close()
	}
	if c.options.Tracepoints || slices.ContainsFunc(c.patterns, func(p kernel.FunctionPattern) bool { return p.Module != "" }) {
		if err := c.listTracepoints(); err != nil {
			return err
		}
	}
	facts := kernel.Read(c.root)
	c.out.Kernel = facts.Release
	if c.options.Tracepoints {
		return c.missed()
	}
	functions, err := c.collect()
	if err != nil {
		return err
	}
	if err := c.missed(); err != nil {
		return err
	}
	c.noteBuiltIn(functions)
	if len(functions) == 0 {
		return nil
	}
	c.out.Means = c.tryMeans()
	c.readLists(functions, facts.Lockdown)
	c.judge(functions)
	if c.options.Fields || len(c.options.Of) > 0 {
		return c.listStructs(functions)
	}
	return nil
}

// missed says which pattern means nothing.
func (c *catalog) missed() error {
	for _, p := range c.patterns {
		if !c.met[p.Text] {
			return c.missing(p)
		}
	}
	return nil
}

// listed is a function with all its symbols.
type listed struct {
	CallTarget
	copies  int
	notSeen []string
}

// collect finds the functions that patterns mean, or all.
func (c *catalog) collect() ([]*listed, error) {
	byName := map[kernel.FunctionSymbol]*listed{}
	_, err := kernel.ListFunctions(c.root, func(f kernel.FunctionSymbol) bool {
		if c.wants(f) && !strings.Contains(f.Name, ".cold") {
			key := kernel.FunctionSymbol{Name: kernel.BaseName(f.Name), Module: f.Module}
			if byName[key] == nil {
				byName[key] = &listed{CallTarget: CallTarget{Name: key.Name, Module: f.Module}}
			}
			byName[key].take(f.Name)
		}
		return false
	})
	functions := make([]*listed, 0, len(byName))
	for _, f := range byName {
		f.Changed = ""
		for _, s := range f.Symbols {
			f.Changed = cmp.Or(f.Changed, changedBy(s))
		}
		functions = append(functions, f)
	}
	slices.SortFunc(functions, func(a, b *listed) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Module, b.Module))
	})
	return functions, err
}

func (c *catalog) wants(f kernel.FunctionSymbol) bool {
	wanted := len(c.patterns) == 0
	for _, p := range c.patterns {
		if p.Match(f) {
			wanted, c.met[p.Text] = true, true
		}
	}
	return wanted
}

// take adds a symbol: that of the function's own name is probed alone.
func (l *listed) take(symbol string) {
	switch {
	case slices.Contains(l.Symbols, symbol):
		l.copies++
	case symbol == l.Name:
		l.notSeen = append(l.notSeen, l.Symbols...)
		l.Symbols, l.copies = []string{symbol}, 1
	case slices.Contains(l.Symbols, l.Name):
		if !slices.Contains(l.notSeen, symbol) {
			l.notSeen = append(l.notSeen, symbol)
		}
	default:
		l.Symbols, l.copies = append(l.Symbols, symbol), max(l.copies, 1)
	}
}

// readLists looks the functions up in the kernel's own lists.
func (c *catalog) readLists(functions []*listed, lockdown string) {
	var symbols []string
	for _, f := range functions {
		symbols = append(symbols, f.Symbols...)
	}
	c.blacklist = kernel.ReadKprobeBlacklist(c.root, lockdown, symbols)
	c.traceable = kernel.Listing{Why: "tracefs cannot be read"}
	if c.tracefs != nil {
		c.traceable = kernel.ReadTraceable(c.tracefs.Files(), symbols)
	}
	for _, l := range []struct {
		what string
		list kernel.Listing
	}{{"which functions kprobes must leave alone", c.blacklist}, {"which functions ftrace knows", c.traceable}} {
		if !l.list.Known {
			c.out.Notes = append(c.out.Notes, l.what+" is not known, and the kernel may refuse some ("+l.list.Why+")")
		}
	}
	if c.types == nil {
		c.out.Notes = append(c.out.Notes, "signatures are not known: "+noBTF)
	}
}

// judge says of each function which means can probe it.
func (c *catalog) judge(functions []*listed) {
	c.out.Matched = len(functions)
	for _, f := range functions {
		p := diagnosis.Probeable{
			Name: f.Name, Module: f.Module, Symbols: f.Symbols, NotSeen: f.notSeen, Changed: f.Changed != "", Copies: f.copies,
			Blacklisted: string(kernel.Off), Traceable: string(kernel.On),
		}
		p.Denied, _ = Denied(f.Name)
		for _, s := range f.Symbols {
			p.Blacklisted = worst(p.Blacklisted, c.blacklist.Has(s), kernel.On)
			p.Traceable = worst(p.Traceable, c.traceable.Has(s), kernel.Off)
		}
		c.judgeMeans(&p)
		if len(c.patterns) > 0 {
			c.describeFunction(&p, f)
			c.out.Functions = append(c.out.Functions, p)
		}
	}
}

func (c *catalog) judgeMeans(p *diagnosis.Probeable) {
	refused := true
	for i := range c.out.Means {
		m := &c.out.Means[i]
		one := diagnosis.FunctionMeans{ID: m.ID, Verdict: diagnosis.Unusable, Reason: c.against(Means(m.ID), p)}
		if one.Reason == "" {
			refused = false
			if one.Verdict = m.Verdict; m.Verdict == diagnosis.Usable {
				m.Functions++
			} else {
				one.Reason = m.ID + " is not usable here"
			}
		}
		p.Means = append(p.Means, one)
	}
	if refused {
		c.out.Refused++
	}
}

// against says why a function must not or cannot be probed by a means, wherever
// that works; "": nothing is known against it.
func (c *catalog) against(m Means, p *diagnosis.Probeable) string {
	ownName := len(p.Symbols) > 0 && p.Symbols[0] == p.Name
	switch {
	case p.Denied != "":
		return "never probed: " + p.Denied
	case m != Fexit && p.Blacklisted == string(kernel.On):
		return "the kernel refuses kprobes on it (its blacklist)"
	case (m == Fexit || m == KprobeMulti) && p.Traceable == string(kernel.Off):
		return notTraceable
	case m == Fexit && !ownName:
		return "a BPF trampoline needs a function by its own name, and the compiler has changed this one"
	case m == Fexit && c.names.known && !c.names.has(p.Module, p.Name):
		return "its types are not known, which fexit needs"
	case p.Copies > 1:
		return notUnique
	}
	return ""
}

// tryMeans tries each means once.
func (c *catalog) tryMeans() []diagnosis.CatalogMeans {
	e := gatherHost(c.root, DiagnoseOptions{BTF: c.options.BTF})
	t := newLiveTrial(DiagnoseOptions{BTF: c.options.BTF})
	t.types = c.cache
	e.has = t.features()
	tried := make([]diagnosis.CatalogMeans, 0, len(allCallMeans))
	for _, m := range allCallMeans {
		one := diagnosis.CatalogMeans{ID: string(m), Verdict: diagnosis.Usable}
		if err := tryCalls(t, m); err != nil {
			one.Verdict, one.Reason = e.explain(describe(m), err)
		}
		tried = append(tried, one)
	}
	return tried
}

// tryCalls tries the smallest thing of a means of witnessing calls.
func tryCalls(t *liveTrial, m Means) error {
	if m != KprobeMulti {
		return t.means(m)
	}
	return withoutHint(t.together([]string{t.aFunction()}))
}
