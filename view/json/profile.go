// SPDX-License-Identifier: Apache-2.0

package json

import (
	"cmp"
	"io"
	"strconv"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

// ProfileSchemaNumber is the number of the format of WriteProfile.
const ProfileSchemaNumber = 1

// ProfileOptions choose how much of a profile is written.
type ProfileOptions struct {
	Functions int  // at most so many; 0: all
	Of        int  // at most so many for each process and thread; 0: 10
	Stacks    bool // all stacks too
}

// WriteProfile writes a profile as one document on one line.
func WriteProfile(w io.Writer, p *profile.Profile, o ProfileOptions) error {
	b, err := profileDocument(p, o).append(nil)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func profileDocument(p *profile.Profile, o ProfileOptions) object {
	total := p.Total()
	function := func(r *profile.Row) any { return functionObject(r, total) }
	process := func(r *profile.ProcessRow) any {
		return byTable(profile.ProcessFields, map[string]any{
			"pid": r.PID, "tid": idOrNil(r.TID), "comm": name(r.Process), "thread": name(r.Thread), "cgroup": name(r.Cgroup),
			"count": r.Weight.Count, "total_ns": r.Weight.Value, "percent": percentOf(r.Weight, total), "functions": list(r.Top, function),
		})
	}
	of := cmp.Or(o.Of, 10)
	return byTable(profile.DocumentFields, map[string]any{
		"schema": ProfileSchemaNumber, "version": quote(p.Version), "kernel": quote(p.Kernel), "kind": string(p.Kind), "means": name(p.Means),
		"start": timeOrNil(p.Start), "wall_ns": max(int64(p.Duration), 0), "period_ns": numberOrNil(uint64(max(p.Period, 0))), "scope": name(p.Scope),
		"total_count": total.Count, "total_ns": total.Value,
		"functions": list(p.Top(o.Functions), function),
		"processes": list(p.ByProcess(of), process), "threads": list(p.ByThread(of), process),
		"stacks": profileStacks(p, o.Stacks), "lost": profileLost(&p.Lost), "notes": quoted(p.Notes),
	})
}

func functionObject(r *profile.Row, total profile.Weight) object {
	return byTable(profile.FunctionFields, map[string]any{
		"function": name(r.Name), "module": name(r.Module), "build_id": name(r.BuildID), "code": r.Kind.String(),
		"self_count": r.Self.Count, "self_ns": r.Self.Value, "self_percent": percentOf(r.Self, total),
		"total_count": r.Total.Count, "total_ns": r.Total.Value, "total_percent": percentOf(r.Total, total),
	})
}

func percentOf(w, total profile.Weight) any { return rounded(100 * w.ShareOf(total)) }

func profileStacks(p *profile.Profile, wanted bool) []any {
	all := []any{}
	if !wanted {
		return all
	}
	for _, i := range p.Largest() {
		s := &p.Samples[i]
		frames := []any{}
		for f := range s.Frames() {
			frames = append(frames, frameObject(f))
		}
		all = append(all, byTable(profile.StackFields, map[string]any{
			"pid": s.PID, "tid": s.TID, "comm": name(s.Process), "thread": name(s.Thread),
			"count": s.Count, "total_ns": s.Value, "truncated": s.Truncated, "frames": frames,
		}))
	}
	return all
}

func frameObject(f *symbol.Frame) object {
	var inFile any
	if f.Virtual != 0 {
		inFile = hexadecimal(f.Virtual)
	}
	return byTable(profile.FrameFields, map[string]any{
		"function": name(f.Name), "offset_bytes": f.Offset, "module": name(f.Module), "path": name(f.Path), "build_id": name(f.BuildID),
		"address": hexadecimal(f.Address), "file_address": inFile, "code": f.Kind.String(),
	})
}

func hexadecimal(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func profileLost(l *profile.Lost) object {
	return byTable(profile.LostFields, map[string]any{
		"samples": l.Samples, "samples_ns": max(int64(l.Time), 0), "kernel_stacks": l.KernelStacks, "user_stacks": l.UserStacks, "frames": l.Frames,
	})
}
