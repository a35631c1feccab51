// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// Reader reads one recording, which may be of several files.
type Reader struct {
	files  []io.ReadCloser
	asked  func() bool // nil: never
	inputs []*input
	format string
}

// source gives the actions of one file, in its own order; io.EOF after the last one.
type source interface {
	next(t *trace) error
	where() string // the file, and the byte or line of the latest action
}

// Options say how a recording is read. The zero value reads it to its end.
type Options struct {
	Input io.Reader   // what "-" stands for; nil: standard input
	Ended func() bool // true: what is not read yet is left, as if the recording ended there; nil: never
}

// perCPU is the name that blktrace gives to the file of a CPU.
var perCPU = regexp.MustCompile(`^(.+\.blktrace\.)\d+$`)

// Open opens a recording: one of the files that blktrace wrote for each CPU or
// the name that they have in common, of which all are read; a directory of such
// files, of whichever devices; a file that blkparse has merged; the text of perf
// script. "-" is standard input. What a file is, is told by what is in it.
// Errors are sentences.
func Open(path string, o Options) (*Reader, error) {
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if path == "-" {
		return newReader([]string{"standard input"}, []io.ReadCloser{io.NopCloser(o.Input)}, o)
	}
	names, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	var files []io.ReadCloser
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return newReader(names, files, o)
}

func filesOf(path string) ([]string, error) {
	about, err := os.Stat(path)
	switch {
	case err == nil && about.IsDir():
		names, err := cpuFiles(path, "", path)
		if err == nil {
			err = oneRecording(path, names)
		}
		return names, err
	case err == nil:
		if m := perCPU.FindStringSubmatch(filepath.Base(path)); m != nil {
			return cpuFiles(filepath.Dir(path), m[1], path)
		}
		return []string{path}, nil
	case errors.Is(err, fs.ErrNotExist):
		if names, err := cpuFiles(filepath.Dir(path), filepath.Base(path)+".blktrace.", path); err == nil {
			return names, nil
		}
		return nil, fmt.Errorf("%s: there is neither such a file nor %s.blktrace.0", path, path)
	}
	return nil, err
}

// cpuFiles are the files in a directory that blktrace has named, with a common beginning.
func cpuFiles(directory, prefix, asked string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		m := perCPU.FindStringSubmatch(e.Name())
		if m != nil && (prefix == "" || m[1] == prefix) && !e.IsDir() {
			names = append(names, filepath.Join(directory, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no files of blktrace's are there (NAME.blktrace.0 and so on)", asked)
	}
	sort.Strings(names)
	return names, nil
}

// oneRecording refuses files of several recordings: added up they would tell of no single device.
func oneRecording(directory string, files []string) error {
	var names []string
	for _, file := range files {
		name := strings.TrimSuffix(perCPU.FindStringSubmatch(filepath.Base(file))[1], ".blktrace.")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("%s holds %d recordings, %s: name one, as in %s", directory, len(names), strings.Join(quoted(names), ", "), filepath.Join(directory, names[0]))
}

// quoted keeps what is no plain character out of messages.
func quoted(names []string) (all []string) {
	for _, name := range names {
		if q := strconv.Quote(name); q != `"`+name+`"` {
			name = q
		}
		all = append(all, name)
	}
	return all
}

func closeAll(files []io.ReadCloser) {
	for _, f := range files {
		_ = f.Close()
	}
}

// ended says whether the reader is asked to leave the rest.
func (r *Reader) ended() bool { return r.asked != nil && r.asked() }

// stoppable is a file that ends early when its reader does.
type stoppable struct {
	io.Reader
	of *Reader
}

func (s stoppable) Read(b []byte) (int, error) {
	if s.of.ended() {
		return 0, io.EOF
	}
	return s.Reader.Read(b)
}

func newReader(names []string, files []io.ReadCloser, o Options) (*Reader, error) {
	r := &Reader{files: files, asked: o.Ended}
	for i, f := range files {
		in := bufio.NewReaderSize(stoppable{f, r}, 64<<10)
		s, err := r.detect(names[i], in, len(files) > 1)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		if s != nil {
			r.inputs = append(r.inputs, &input{source: s})
		}
	}
	if len(r.inputs) == 0 {
		closeAll(files)
		return nil, fmt.Errorf("%s: nothing was recorded: the file is empty", names[0])
	}
	return r, nil
}

// Format says what the recording is: "blktrace" or "perf script".
func (r *Reader) Format() string { return r.format }

// kinds are files that are often taken for a recording that can be read, and what to do with them.
var kinds = []struct {
	head   string
	advice string
}{
	{"PERFILE2", "perf's own file: print it by \"perf script -i FILE\" and import the text"},
	{"\x17\x08\x44tracing", "trace-cmd's own file: print it by \"trace-cmd report FILE\" and import the text"},
	{"\x1f\x8b", "compressed by gzip: unpack it first"},
	{"\xfd7zXZ", "compressed by xz: unpack it first"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
}

// detect tells by its first bytes what a file is; nil if it is empty, as the file of an idle CPU is.
func (r *Reader) detect(name string, in *bufio.Reader, oneOfMany bool) (source, error) {
	head, err := in.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(head) == 0 {
		return nil, nil
	}
	if orderOf(head) != nil {
		r.format = "blktrace"
		return newBinaryReader(name, in), nil
	}
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.head)) {
			return nil, fmt.Errorf("%s: %s", name, k.advice)
		}
	}
	if oneOfMany || bytes.IndexByte(head, 0) >= 0 {
		return nil, fmt.Errorf("%s: byte 0: neither a file of blktrace's nor text of perf script", name)
	}
	r.format = "perf script"
	return newTextReader(name, in), nil
}

// Close is for a recording that is not read.
func (r *Reader) Close() { closeAll(r.files) }

// Read tells each IO when it has ended, about in that order, and those that
// did not end last; an IO is the callee's to keep. It closes the recording. If a file is damaged, all before that
// place, and all of the other files, is told; the error has the byte or line. If
// actions are too far from the order of time to be put in order, it is read to
// its end, and the error tells the first of them. That it was ended within a record is no damage.
func (r *Reader) Read(tell func(*event.IO)) (Counts, error) {
	defer r.Close()
	var counts Counts
	l := newLife(&counts, tell)
	err := r.merge(&counts, l.take)
	l.end()
	for _, in := range r.inputs {
		if text, ok := in.source.(*textReader); ok {
			counts.Skipped += text.skipped
			counts.Missing += text.lost
		}
	}
	return counts, err
}
