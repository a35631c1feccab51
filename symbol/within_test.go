// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// hanging is a file on a server that does not answer until it is let go.
type hanging struct {
	io.ReaderAt
	until chan struct{}
}

func (h hanging) ReadAt(b []byte, offset int64) (int, error) {
	<-h.until
	return h.ReaderAt.ReadAt(b, offset)
}

// TestHangingFile: a file system that does not answer costs one wait, and nobody else any.
func TestHangingFile(t *testing.T) {
	seed := elfSeed(t)
	r := New("/", Options{})
	defer r.Close()
	file := hanging{bytes.NewReader(seed), make(chan struct{})}
	m := &module{name: "far", content: file, key: fileKey{size: int64(len(seed))}, refs: 1}
	r.modules[m.key] = m
	const leaf = 0x300 // anywhere in it
	var f Frame
	begin := time.Now()
	m.frame(&f, leaf, r)
	if took := time.Since(begin); took < loadFor || f.Module != "far" || f.BuildID != "" {
		t.Errorf("%v, %+v", took, f)
	}
	begin = time.Now()
	for range 100 {
		m.frame(&f, leaf, r)
	}
	if took := time.Since(begin); took >= loadFor {
		t.Errorf("it was waited for again: %v", took)
	}
	close(file.until)
	for range 1000 {
		if m.frame(&f, leaf, r); f.BuildID != "" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if f.BuildID != "0102030405060708" {
		t.Errorf("it answers now: %+v", f)
	}
}

func TestWithin(t *testing.T) {
	slots, until, undone := make(chan struct{}, 1), make(chan struct{}), make(chan int, 1)
	slow := func() (int, error) { <-until; return 7, nil }
	if _, err := within(slots, time.Millisecond, slow, func(n int) { undone <- n }); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	if _, err := within(slots, time.Millisecond, slow, nil); !errors.Is(err, errBusy) {
		t.Error(err)
	}
	close(until)
	if n := <-undone; n != 7 {
		t.Errorf("%d was undone", n)
	}
	quick := func() (int, error) { return 8, io.EOF }
	if n, err := within(slots, time.Minute, quick, nil); n != 8 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
}
