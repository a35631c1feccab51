// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// spread is what btt prints of a phase, in seconds.
type spread struct {
	least, mean, most float64
	count             int
}

// btt runs btt on a merged file and reads its table of all devices.
func btt(t *testing.T, merged string) map[string]spread {
	t.Helper()
	out, err := exec.Command("btt", "-i", merged).Output()
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]spread{}
	_, table, _ := strings.Cut(string(out), "All Devices")
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if strings.Contains(line, "Device Overhead") {
			break
		}
		if len(fields) != 5 || fields[0] == "ALL" {
			continue
		}
		var s spread
		s.least, _ = strconv.ParseFloat(fields[1], 64)
		s.mean, _ = strconv.ParseFloat(fields[2], 64)
		s.most, _ = strconv.ParseFloat(fields[3], 64)
		s.count, _ = strconv.Atoi(fields[4])
		phases[fields[0]] = s
	}
	return phases
}

func spreadOf(ios []*event.IO, phase event.Phase) spread {
	s := spread{least: math.Inf(1)}
	for _, io := range ios {
		ns, ok := io.Phase(phase)
		if !ok {
			continue
		}
		if again, ok := io.Requeued(); ok && phase == event.PhaseDevice { // btt's begins with the last issue
			ns -= again
		}
		seconds := float64(ns) / 1e9
		s.least, s.most = min(s.least, seconds), max(s.most, seconds)
		bios := 1
		if phase == event.PhaseDevice { // which btt counts for each bio
			bios += int(io.Merged)
		}
		s.mean += seconds * float64(bios)
		s.count += bios
	}
	s.mean /= float64(s.count)
	return s
}

// randomLives records I/Os of two processes on three CPUs, many under way at
// once, of which each tenth goes another way.
func randomLives(r *recorder, n int, tenth []uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []is
	at := uint64(5_000_000_000)
	for i := range n {
		at += 1 + random.Uint64N(200_000)
		rec := is{cat: kRead, sector: uint64(i) * 64, bytes: 4096 << (i % 3), pid: 100 + uint32(i%2), cpu: uint32(i % 3)}
		if i%3 == 0 {
			rec.cat = catWrite
		}
		rec.at = at
		actions := []uint64{kQ, kG, kI, kD, kC}
		if i%10 == 9 {
			actions = tenth
		}
		merged := false
		for k, action := range actions {
			now := rec
			switch now.action = action; {
			case action == kQ && k > 0 || action == kM: // a second bio, behind the first one
				now.sector += uint64(rec.bytes / sectorBytes)
				merged = true
			case merged:
				now.bytes *= 2
			}
			if action == kC { // on the CPU that the interrupt hits
				now.pid, now.cpu = 0, random.Uint32N(3)
			}
			all = append(all, now)
			rec.at += 1 + random.Uint64N(5_000_000)
		}
	}
	slices.SortStableFunc(all, func(a, b is) int { return cmp.Compare(a.at, b.at) })
	r.name(1_000_000_000, 100, 0, "fio")
	r.name(1_000_000_001, 101, 0, "dd")
	r.add(all...)
}

// merge lets blkparse merge a recording's files, and tells the name of what it wrote.
func merge(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("blkparse", "-q", "-O", "-i", filepath.Base(name), "-d", "merged")
	cmd.Dir = filepath.Dir(name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(cmd.Dir, "merged")
}

// TestBtt compares each phase with what btt makes of the same recording, and
// the recording's files with their merger by blkparse.
func TestBtt(t *testing.T) {
	for _, tool := range []string{"btt", "blkparse"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: scripts/need test", tool)
		}
	}
	phases := map[string]event.Phase{
		"Q2G": event.PhaseGet, "G2I": event.PhaseInsert, "I2D": event.PhaseQueue, "D2C": event.PhaseDevice, "Q2C": event.PhaseTotal,
	}
	for _, test := range []struct {
		name    string
		tenth   []uint64
		compare []string
	}{
		{"plain", []uint64{kQ, kG, kI, kD, kC}, []string{"Q2G", "G2I", "I2D", "D2C", "Q2C"}},
		{"direct", []uint64{kQ, kG, kD, kC}, []string{"Q2G", "G2I", "D2C", "Q2C"}},
		// btt takes the latest issue of a request that was requeued, and an IO the first one: what lies between is told apart.
		{"requeued", []uint64{kQ, kG, kI, kD, kR, kI, kD, kC}, []string{"Q2G", "D2C", "Q2C"}},
		// btt has a Q2C for each bio, and an IO is a request.
		{"merged", []uint64{kQ, kG, kQ, kM, kI, kD, kC}, []string{"Q2G", "G2I", "I2D", "D2C"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRecorder(binary.NativeEndian, 7)
			randomLives(r, 1000, test.tenth)
			name := r.save(t, t.TempDir(), "sda")
			merged := merge(t, name)
			theirs := btt(t, merged)
			ios, counts := read(t, name)
			again, counts2 := read(t, merged)
			if counts != counts2 || len(ios) != len(again) || counts.IOs != 1000 || counts.Unfinished+counts.Unmatched+counts.Stray != 0 {
				t.Errorf("of the files %+v, of their merger %+v", counts, counts2)
			}
			for _, phase := range test.compare {
				want := theirs[phase]
				if want.count == 0 {
					t.Errorf("btt has no %s: %+v", phase, theirs)
				}
				for _, ours := range []spread{spreadOf(ios, phases[phase]), spreadOf(again, phases[phase])} {
					if ours.count != want.count || !near(ours.least, want.least) || !near(ours.mean, want.mean) || !near(ours.most, want.most) {
						t.Errorf("%s: %+v, by btt %+v", phase, ours, want)
					}
				}
			}
		})
	}
}

// near is equal but for the rounding of the last digit that btt prints.
func near(a, b float64) bool { return math.Abs(a-b) < 1.1e-9 }
