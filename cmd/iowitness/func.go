// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/view/json"
)

// callFlags are what the verbs that witness functions share.
type callFlags struct {
	Where    string        `help:"Only calls for which this is true, such as 'size > 4K && comm == \"dd\"'; see docs/EXPRESSIONS.md." placeholder:"EXPRESSION"`
	Slower   time.Duration `aliases:"min" help:"Print single calls that took at least this long; also --min. To print each, see --print." placeholder:"10ms"`
	Print    []string      `help:"Print single calls with these fields; default: all arguments. May be given more than once." placeholder:"FIELD" sep:"none"`
	Stacks   bool          `help:"Print the stack of each single call." negatable:""`
	MaxRate  uint32        `type:"count" help:"Single calls printed in a second, for each CPU; those beyond it are counted." default:"1000" placeholder:"20K"`
	Sample   uint32        `type:"ratio" help:"Measure one call in so many, chosen at random." default:"1/1" placeholder:"1/100"`
	For      time.Duration `help:"Witness for this long." placeholder:"10s"`
	Pid      []uint32      `help:"Only these processes."`
	Comm     string        `help:"Only threads of this name." placeholder:"NAME"`
	Cgroup   string        `help:"Only threads in this cgroup or below." placeholder:"PATH"`
	Json     bool          `help:"Print JSON."`
	Schema   bool          `help:"Print the JSON schema, and witness nothing."`
	Output   string        `short:"o" help:"Write to this file instead." placeholder:"FILE"`
	MaxCost  float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before it leaves out stacks, then samples, then detaches; 0: no limit." default:"10" placeholder:"PERCENT"`
	MaxTime  time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`
	Via      string        `help:"Witness only by this means: fexit, kprobe_multi, kretprobe or tracefs." placeholder:"MEANS"`
	Btf      string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	Buffer   uint32        `type:"buffer" help:"KiB of the ring between kernel and program, a power of two." default:"2048"`
	MaxDepth int           `help:"Calls of a function that may be under way at once, where return probes keep a pool for them; 0: by the number of CPUs." name:"max-active" placeholder:"N"`

	IncludeSelf bool `help:"Also calls that iowitness itself makes."`

	command []string // after "--"
	via     probe.Means
}

func (c *callFlags) take(command []string) error {
	c.command = command
	return nil
}

// check says what the flags' types cannot.
func (c *callFlags) check() (err error) {
	c.via, err = parseVia(c.Via, probe.ParseCallMeans)
	return err
}

// funcCmd counts and lists calls of functions.
type funcCmd struct {
	Functions []string `arg:"" optional:"" help:"Functions by name or pattern; 'ext4:*' are those of a module."`

	By       []string      `help:"Sum up by these too: comm, pid, tid, cpu, cgroup, stack, ret, or any field of the call." placeholder:"KEY" sep:"none"`
	Hist     bool          `help:"Show a histogram of each row's times."`
	Interval time.Duration `type:"interval" help:"Length of an interval of the live view." placeholder:"1s"`
	Top      *int          `type:"rows" help:"Show this many rows (0: all)." placeholder:"N"`
	Markdown bool          `help:"Print the page that describes the documents, and witness nothing." hidden:""`
	callFlags
}

// Validate checks what the flags' types cannot say.
func (c *funcCmd) Validate() error {
	switch {
	case c.Schema || c.Markdown:
		return nil
	case len(c.Functions) == 0:
		return errors.New("name a function, such as vfs_read or 'ext4_*'; iowitness list shows what there is")
	}
	c.By = splitKeys(c.By)
	return c.check()
}

// splitKeys cuts lists at commas outside of brackets.
func splitKeys(lists []string) (keys []string) {
	for _, list := range lists {
		depth, from := 0, 0
		for i, r := range list + "," {
			switch {
			case r == '(' || r == '[':
				depth++
			case r == ')' || r == ']':
				depth--
			case r == ',' && depth <= 0:
				if key := strings.TrimSpace(list[from:i]); key != "" {
					keys = append(keys, key)
				}
				from = i + 1
			}
		}
	}
	return keys
}

// lists says whether single calls are printed.
func (c *funcCmd) lists() bool { return c.Slower > 0 || len(c.Print) > 0 }

// Run witnesses until it is told to end.
func (c *funcCmd) Run(s *streams) error {
	switch {
	case c.Markdown:
		return writeTo(c.Output, s, call.WriteReference)
	case c.Schema && c.lists():
		return writeTo(c.Output, s, json.WriteCallSchema)
	case c.Schema:
		return writeTo(c.Output, s, json.WriteCallsSchema)
	}
	return c.run(s, &callPlan{patterns: c.Functions, by: c.By, sums: !c.lists(), lists: c.lists(), prints: c.Print, stacks: c.Stacks || c.Slower > 0}, &callViews{
		hist: c.Hist, top: rowsOf(c.Top, c.Json), interval: c.Interval,
	})
}

// callsCmd shows calls with those that they make.
type callsCmd struct {
	Function string   `arg:"" optional:"" help:"The outermost function."`
	Inside   []string `help:"Functions whose calls are shown within it, by name or pattern." placeholder:"NAME"`
	callFlags
}

// Validate checks what the flags' types cannot say.
func (c *callsCmd) Validate() error {
	switch {
	case c.Schema:
		return nil
	case c.Function == "":
		return errors.New("name the outermost function, such as vfs_read")
	}
	return c.check()
}

// Run witnesses until it is told to end.
func (c *callsCmd) Run(s *streams) error {
	if c.Schema {
		return writeTo(c.Output, s, json.WriteCallSchema)
	}
	return c.run(s, &callPlan{patterns: c.Inside, root: c.Function, lists: true, prints: c.Print, stacks: c.Stacks}, &callViews{tree: true, slower: c.Slower})
}

// callPlan is what to witness.
type callPlan struct {
	patterns []string
	root     string // the outermost function, where only calls within it count
	by       []string
	prints   []string
	sums     bool
	lists    bool
	stacks   bool

	find    *probe.CallTargets
	targets []*probe.CallTarget
	denied  int
	keys    []call.Key
	words   uint32
	all     call.Functions
	lean    bool     // only registers are read
	left    []string // arguments that are left out for it
}

// resolve finds the functions and compiles what is asked of their calls.
func (p *callPlan) resolve(c *callFlags) (err error) {
	if p.find, err = probe.NewCallTargets(c.Btf); err != nil {
		return err
	}
	patterns := p.patterns
	if p.root != "" {
		patterns = append([]string{p.root}, patterns...)
	}
	if p.targets, p.denied, err = p.find.Find(patterns); err != nil {
		return err
	}
	for _, key := range p.by {
		p.keys = append(p.keys, call.Key(key))
	}
	return p.compileAll(c)
}

func (p *callPlan) compileAll(c *callFlags) error {
	p.all = nil
	for _, t := range p.targets {
		t.Root = p.root != "" && (t.Name == p.root || slices.Contains(t.Symbols, p.root))
		t.Program = nil
		f, err := p.compile(c, t)
		if err != nil {
			return err
		}
		p.all = append(p.all, f)
	}
	return nil
}

// leaner compiles it again without the arguments that are more than numbers, where nobody has asked for
// them: it is for a means that reads no memory of the kernel.
func (p *callPlan) leaner(c *callFlags) error {
	p.lean = true
	return p.compileAll(c)
}

// compile turns filter, keys and fields into what is loaded for a function. In a tree the
// filter is of the outermost call, since the others come with it.
func (p *callPlan) compile(c *callFlags, t *probe.CallTarget) (*call.Function, error) {
	scope := t.Scope()
	f := &call.Function{Name: t.Name, Module: t.Module}
	if t.Returns() {
		result, err := scope.Field("ret")
		if err != nil {
			return nil, expressionError("ret", t, err)
		}
		f.Result = result
	}
	var filter *expr.Filter
	if c.Where != "" && (p.root == "" || t.Root) {
		var err error
		if filter, err = scope.Filter(c.Where); err != nil {
			return nil, expressionError("--where", t, err)
		}
	}
	var fields []*expr.Field
	for _, key := range p.by {
		if slices.Contains(call.Keys, call.Key(key)) {
			continue
		}
		field, err := scope.Field(key)
		if err != nil {
			return nil, expressionError("--by", t, err)
		}
		fields = append(fields, field)
	}
	keys := len(fields)
	prints := p.prints
	if p.lists && len(prints) == 0 {
		prints = t.Arguments()
	}
	for _, text := range prints {
		field, err := scope.Field(text)
		if err != nil && len(p.prints) == 0 {
			continue // an argument that cannot be captured is left out where all are meant
		}
		if err == nil && len(p.prints) == 0 && p.lean && field.ReadsMemory() {
			if !slices.Contains(p.left, text) {
				p.left = append(p.left, text)
			}
			continue
		}
		if err != nil {
			return nil, expressionError("--print", t, err)
		}
		fields = append(fields, field)
	}
	if filter == nil && len(fields) == 0 {
		return f, nil
	}
	program, err := expr.Compile(filter, fields)
	if err != nil {
		return nil, expressionError("--where and fields", t, err)
	}
	t.Program, f.Fields = program, program
	words, err := call.KeyWords(program, keys)
	if err != nil {
		return nil, usageError{fmt.Errorf("--by: %w", err)}
	}
	p.words = max(p.words, words)
	return f, nil
}

// expressionError says what is wrong with an expression, and where.
func expressionError(flag string, t *probe.CallTarget, err error) error {
	if e := new(expr.Error); errors.As(err, &e) && term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprint(os.Stderr, e.Marked())
	}
	return usageError{fmt.Errorf("%s, of %s: %w", flag, t.Name, err)}
}
