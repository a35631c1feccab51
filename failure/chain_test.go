// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// called makes the stack of a function from its callers, innermost first.
func called(by ...string) (frames []Frame) {
	for i, name := range by {
		frames = append(frames, Frame{Address: uint64(len(name)*1000 + len(by) - i), Function: name})
	}
	return frames
}

func steps(errno unix.Errno, names ...string) (s []Step) {
	for _, name := range names {
		s = append(s, Step{name, errno})
	}
	return s
}

func TestChains(t *testing.T) {
	ok := func(name string, place uint64) Return { return Return{Function: name, Place: place} }
	bad := func(name string, place uint64, errno unix.Errno, by ...string) Return {
		return Return{Function: name, Place: place, Errno: errno, Callers: called(by...)}
	}
	call := func(r Return, called uint64) Return {
		r.Called = called
		return r
	}
	jump := func(r Return, called uint64) Return {
		r.Called, r.Jumped = called, true
		return r
	}
	hooked := func(r Return) Return {
		r.Callers, r.Called, r.Jumped, r.ToProbe = nil, 5, true, true
		return r
	}
	for name, c := range map[string]struct {
		returns []Return
		errno   unix.Errno
		steps   []Step
		before  []Step
		others  []Step
		callers []string // nil: not asked
	}{
		"nothing witnessed": {errno: unix.EINVAL},
		"one within the next": {
			returns: []Return{
				bad("load_script", 80, unix.ENOEXEC, "bprm", "exec"), bad("vm_mmap", 40, unix.EINVAL, "elf_map", "load_elf", "bprm", "exec"),
				bad("load_elf", 80, unix.EINVAL, "bprm", "exec"), bad("bprm", 90, unix.EINVAL, "exec"),
			},
			errno: unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap", "load_elf", "bprm"), others: steps(unix.ENOEXEC, "load_script"),
		},
		"the format before returned the same, and was given up": {
			returns: []Return{
				bad("script", 80, unix.ENOEXEC, "bprm", "exec"), bad("read", 60, unix.ENOEXEC, "misc", "bprm", "exec"), bad("misc", 80, unix.ENOEXEC, "bprm", "exec"),
				bad("bprm", 90, unix.ENOEXEC, "exec"),
			},
			errno: unix.ENOEXEC, steps: steps(unix.ENOEXEC, "read", "misc", "bprm"), others: steps(unix.ENOEXEC, "script"),
		},
		"one that went no further, as its caller succeeded": {
			returns: []Return{bad("lookup", 40, unix.ENOENT, "walk", "open"), ok("walk", 60), bad("open", 80, unix.ENOENT)},
			errno:   unix.ENOENT, steps: steps(unix.ENOENT, "open"), others: steps(unix.ENOENT, "lookup"),
		},
		"what cleans up succeeds": {
			returns: []Return{bad("lookup", 40, unix.ENOENT, "find", "open"), ok("put", 60), bad("open", 80, unix.ENOENT)},
			errno:   unix.ENOENT, steps: steps(unix.ENOENT, "lookup", "open"),
		},
		"without stacks a success around it stands against it": {
			returns: []Return{bad("lookup", 40, unix.ENOENT), ok("walk", 60), bad("open", 80, unix.ENOENT)},
			errno:   unix.ENOENT, steps: steps(unix.ENOENT, "open"), others: steps(unix.ENOENT, "lookup"),
		},
		"it is changed on its way": {
			returns: []Return{bad("area", 20, unix.ENOMEM, "map", "load"), bad("map", 40, unix.ENOMEM, "load"), bad("load", 60, unix.EINVAL)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "load"), before: steps(unix.ENOMEM, "area", "map"),
		},
		"it is changed by the system call itself": {
			returns: []Return{bad("area", 20, unix.ENOMEM, "map")},
			errno:   unix.EAGAIN, before: steps(unix.ENOMEM, "area"),
		},
		"the second try of a walk": {
			returns: []Return{
				bad("walk", 40, unix.ECHILD, "path", "open"), bad("path", 60, unix.ECHILD, "open"),
				bad("walk", 40, unix.ENOENT, "path", "open"), bad("path", 60, unix.ENOENT, "open"), bad("open", 80, unix.ENOENT),
			},
			errno: unix.ENOENT, steps: steps(unix.ENOENT, "walk", "path", "open"), others: steps(unix.ECHILD, "path", "walk"),
		},
		"one that was called jumped to it": {
			returns: []Return{
				bad("script", 80, unix.EINVAL, "bprm", "exec"), jump(bad("pgoff", 40, unix.EINVAL, "elf_map", "load_elf", "bprm", "exec"), 7),
				jump(bad("between", 40, unix.EINVAL, "elf_map", "load_elf", "bprm", "exec"), 7), call(bad("vm_mmap", 40, unix.EINVAL, "elf_map", "load_elf", "bprm", "exec"), 7),
				bad("load_elf", 80, unix.EINVAL, "bprm", "exec"), bad("bprm", 90, unix.EINVAL, "exec"),
			},
			errno: unix.EINVAL, steps: steps(unix.EINVAL, "pgoff", "between", "vm_mmap", "load_elf", "bprm"), others: steps(unix.EINVAL, "script"),
			callers: []string{"between", "vm_mmap", "elf_map", "load_elf", "bprm", "exec"},
		},
		"it began in what was called by one that was jumped to": {
			returns: []Return{
				bad("area", 20, unix.ENOMEM, "do_mmap", "pgoff", "elf_map", "exec"), jump(bad("pgoff", 40, unix.ENOMEM, "elf_map", "exec"), 7),
				call(bad("vm_mmap", 40, unix.ENOMEM, "elf_map", "exec"), 7), bad("elf_map", 80, unix.ENOMEM, "exec"),
			},
			errno: unix.ENOMEM, steps: steps(unix.ENOMEM, "area", "pgoff", "vm_mmap", "elf_map"),
			callers: []string{"do_mmap", "pgoff", "vm_mmap", "elf_map", "exec"},
		},
		"without stacks there are no callers": {
			returns: []Return{jump(bad("pgoff", 40, unix.ENOMEM), 7), call(bad("vm_mmap", 40, unix.ENOMEM), 7)},
			errno:   unix.ENOMEM, steps: steps(unix.ENOMEM, "pgoff", "vm_mmap"), callers: []string{},
		},
		"another one that was called before jumped to it": {
			returns: []Return{jump(bad("pgoff", 40, unix.EINVAL, "map"), 6), call(bad("vm_mmap", 40, unix.EINVAL, "map"), 7)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "pgoff"), callers: []string{"map"},
		},
		"the same one had been called before, and jumped": {
			returns: []Return{jump(bad("pgoff", 40, unix.EINVAL, "map"), 7), call(bad("vm_mmap", 40, unix.EINVAL, "map"), 7), call(bad("vm_mmap", 40, unix.EINVAL, "map"), 7)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "vm_mmap", "pgoff"), callers: []string{"map"},
		},
		"the return of the one that jumped to it was missed, and it was called again": {
			returns: []Return{jump(bad("pgoff", 40, unix.EINVAL, "map"), 7), bad("check", 20, unix.EPERM, "vm_mmap", "map"), call(bad("vm_mmap", 40, unix.EINVAL, "map"), 7)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), before: steps(unix.EPERM, "check"), others: steps(unix.EINVAL, "pgoff"), callers: []string{"map"},
		},
		"to a probe's code they return, reached by jumps": {
			returns: []Return{
				bad("area", 20, unix.ENOMEM, "do_mmap", "pgoff", "elf_map", "exec"), hooked(bad("pgoff", 40, unix.ENOMEM)), hooked(bad("between", 40, unix.ENOMEM)),
				bad("vm_mmap", 40, unix.ENOMEM, "elf_map", "exec"), bad("elf_map", 80, unix.ENOMEM, "exec"),
			},
			errno: unix.ENOMEM, steps: steps(unix.ENOMEM, "area", "pgoff", "between", "vm_mmap", "elf_map"),
			callers: []string{"do_mmap", "pgoff", "between", "vm_mmap", "elf_map", "exec"},
		},
		"the innermost returns to a probe's code": {
			returns: []Return{
				hooked(bad("pgoff", 40, unix.EINVAL)), hooked(bad("between", 40, unix.EINVAL)), bad("vm_mmap", 40, unix.EINVAL, "elf_map", "exec"), bad("elf_map", 80, unix.EINVAL, "exec"),
			},
			errno: unix.EINVAL, steps: steps(unix.EINVAL, "pgoff", "between", "vm_mmap", "elf_map"), callers: []string{"between", "vm_mmap", "elf_map", "exec"},
		},
		"all return to a probe's code, jumps or not": {
			returns: []Return{hooked(bad("pgoff", 40, unix.EINVAL)), hooked(bad("vm_mmap", 40, unix.EINVAL))},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "pgoff"),
		},
		"one that was reached by a jump, called before another one": {
			returns: []Return{
				hooked(bad("pgoff", 40, unix.EINVAL)), bad("vm_mmap", 40, unix.EINVAL, "map"), bad("check", 40, unix.EINVAL, "map"),
			},
			errno: unix.EINVAL, steps: steps(unix.EINVAL, "check"), others: steps(unix.EINVAL, "vm_mmap", "pgoff"), callers: []string{"map"},
		},
		"one after the other was called": {
			returns: []Return{call(bad("pgoff", 40, unix.EINVAL, "map"), 6), call(bad("vm_mmap", 40, unix.EINVAL, "map"), 7)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "pgoff"), callers: []string{"map"},
		},
		"whom they called is not known": {
			returns: []Return{bad("pgoff", 40, unix.EINVAL, "map"), bad("vm_mmap", 40, unix.EINVAL, "map")},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "pgoff"), callers: []string{"map"},
		},
		"both were reached by jumps, perhaps in calls one after the other": {
			returns: []Return{jump(bad("pgoff", 40, unix.EINVAL, "map"), 7), jump(bad("vm_mmap", 40, unix.EINVAL, "map"), 7)},
			errno:   unix.EINVAL, steps: steps(unix.EINVAL, "vm_mmap"), others: steps(unix.EINVAL, "pgoff"), callers: []string{"map"},
		},
		"no error of the call's": {
			returns: []Return{bad("walk", 40, unix.ECHILD, "path"), ok("path", 60)},
			errno:   unix.EBADF, others: steps(unix.ECHILD, "walk"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ChainOf(c.returns, c.errno)
			var callers []string
			for _, f := range got.Callers {
				callers = append(callers, f.Function)
			}
			if c.callers != nil && !slices.Equal(callers, c.callers) {
				t.Errorf("callers %v, not %v", callers, c.callers)
			}
			if !slices.Equal(got.Steps, c.steps) || !slices.Equal(got.Before, c.before) || !slices.Equal(got.Others, c.others) {
				t.Errorf("steps %v\nnot   %v\nbefore %v\nnot    %v\nothers %v\nnot    %v", got.Steps, c.steps, got.Before, c.before, got.Others, c.others)
			}
		})
	}
}

// play makes up a run of functions that call each other, with all that can become of an error.
type play struct {
	random  *rand.Rand
	returns []Return
	calls   int
	jumps   int
	errors  unix.Errno
	jumping bool // to the function that runs next
	hooks   bool // what is reached by a jump returns to the code of a probe, which hides its callers
}

// call runs a function and what it calls. It gives the error that it returns and the functions
// through which that came, innermost first. If fails is not 0, it does no more than
// return that.
func (p *play) call(callers []Frame, place uint64, depth int, fails unix.Errno) (errno unix.Errno, path []string) {
	if p.random.IntN(3) == 0 { // by a pointer: nobody can tell whom
		return p.run(callers, place, depth, fails, 0)
	}
	return p.run(callers, place, depth, fails, p.calls+1)
}

// run is a function that was called, or that another one jumped to when that was.
func (p *play) run(callers []Frame, place uint64, depth int, fails unix.Errno, called int) (errno unix.Errno, path []string) {
	p.calls++
	number, jumped := p.calls, p.jumping
	p.jumping = false
	name := fmt.Sprintf("f%d", number)
	if fails == 0 {
		errno, path = p.body(name, number, callers, place, depth)
	}
	switch {
	case errno == 0 && depth > 0 && p.calls < 60 && p.random.IntN(4) == 0: // it ends by a jump
		p.jumps++
		p.jumping = true
		errno, path = p.run(callers, place, depth-1, fails, called)
		if called == 0 && !p.hooks {
			path = nil // it looks like a call before
		}
	case errno == 0 && fails != 0:
		errno = fails
	case errno == 0 && p.random.IntN(3) == 0:
		p.errors++ // each error that arises differs from the others
		errno = p.errors
	}
	if errno != 0 {
		path = append(path, name)
	}
	r := Return{Function: name, Place: place, Errno: errno, Callers: callers, Called: uint64(called), Jumped: called != 0 && called != number}
	if p.hooks && jumped {
		r.Callers, r.Called, r.Jumped, r.ToProbe = nil, probesCode, true, true
	}
	p.told(r)
	return errno, path
}

// body are the calls that a function makes, up to the one whose error it returns.
func (p *play) body(name string, number int, callers []Frame, place uint64, depth int) (errno unix.Errno, path []string) {
	var again unix.Errno
	for range p.random.IntN(4) {
		if depth == 0 || p.calls > 60 {
			break
		}
		// One of two calls, each in a loop.
		caller := Frame{Address: uint64(number*100 + p.random.IntN(2)), Function: name}
		inner, from := p.call(append([]Frame{caller}, callers...), place-16, depth-1, again)
		if inner != 0 && p.random.IntN(3) > 0 { // else it goes on
			return inner, from
		}
		again = 0
		if inner != 0 && p.random.IntN(2) == 0 {
			again = inner // which the next one returns too, as formats of programs do
		}
	}
	return 0, nil
}

// told keeps a return as the kernel side does.
func (p *play) told(r Return) {
	if r.Errno == 0 {
		r.Callers = nil
		if n := len(p.returns); n == 0 || p.returns[n-1].Place >= r.Place {
			return
		}
	}
	p.returns = append(p.returns, r)
}

// TestChainsOfCallsThatAreMadeUp are their errors' ways, and where not all returns were kept
// the outer part of them.
func TestChainsOfCallsThatAreMadeUp(t *testing.T) {
	failed, jumped := 0, 0
	for seed := range uint64(20000) {
		p := &play{random: rand.New(rand.NewPCG(seed, 1)), hooks: seed%2 == 0}
		errno, path := p.call([]Frame{{1, "syscall"}}, 4096, 6, 0)
		if errno == 0 {
			continue
		}
		failed++
		jumped += p.jumps
		if got := names(ChainOf(p.returns, errno).Steps); !slices.Equal(got, path) {
			t.Fatalf("seed %d: %v, not %v, of %+v", seed, got, path, p.returns)
		}
		kept := p.returns[len(p.returns)/2:]
		got := names(ChainOf(kept, errno).Steps)
		if len(got) == 0 || len(got) > len(path) || !slices.Equal(got, path[len(path)-len(got):]) {
			t.Fatalf("seed %d: %v is no outer part of %v", seed, got, path)
		}
	}
	if failed < 1000 || jumped < 1000 {
		t.Errorf("only %d runs failed, with %d jumps: this is no test", failed, jumped)
	}
}

func names(steps []Step) (names []string) {
	for _, s := range steps {
		names = append(names, s.Function)
	}
	return names
}

// FuzzChain: whatever comes, each step lies within the next, or was reached by a jump of it, and has
// the error.
func FuzzChain(f *testing.F) {
	f.Add([]byte{1, 40, 22, 2, 60, 0, 3, 80, 22}, byte(22))
	f.Add([]byte{0x8e, 40, 22, 0x03, 40, 22, 3, 80, 22}, byte(22))
	f.Add([]byte{0x0b, 40, 22, 0x03, 40, 22, 3, 80, 22}, byte(22))
	f.Fuzz(func(t *testing.T, b []byte, errno byte) {
		var returns []Return
		for ; len(b) >= 3; b = b[3:] {
			r := Return{Function: fmt.Sprint(len(returns)), Place: uint64(b[1]), Errno: unix.Errno(b[2])}
			r.Called, r.Jumped, r.ToProbe = uint64(b[0]>>1&3), b[0]&8 != 0, b[0]&0x80 != 0
			if b[0]&1 != 0 {
				r.Callers = called("a", fmt.Sprint(b[0]>>4), "c")
			}
			returns = append(returns, r)
		}
		at := map[string]Return{}
		for _, r := range returns {
			at[r.Function] = r
		}
		c := ChainOf(returns, unix.Errno(errno))
		for i, s := range c.Steps {
			if s.Errno != unix.Errno(errno) {
				t.Errorf("%+v of %d", s, errno)
			}
			if i == 0 {
				continue
			}
			inner, outer := at[c.Steps[i-1].Function], at[s.Function]
			jumped := inner.Place == outer.Place && (inner.ToProbe || inner.Jumped && inner.Called != 0 && inner.Called == outer.Called)
			if inner.Place >= outer.Place && !jumped {
				t.Errorf("%+v is not within %+v", inner, outer)
			}
		}
	})
}
