// SPDX-License-Identifier: Apache-2.0

package event

import "testing"

func TestRWBS(t *testing.T) {
	for _, c := range []struct {
		op    uint32
		bytes uint32
		want  string
		kind  OpKind
	}{
		{OpRead, 4096, "R", KindRead},
		{OpRead | OpSync, 4096, "RS", KindRead},
		{OpRead | OpRahead, 4096, "RA", KindRead},
		{OpRead | OpMeta | OpPrio, 4096, "RM", KindRead},
		{OpWrite, 4096, "W", KindWrite},
		{OpWrite | OpSync, 4096, "WS", KindWrite},
		{OpWrite | OpSync | OpFUA, 4096, "WFS", KindWrite},
		{OpWrite | OpSync | OpFUA | OpPreflush, 4096, "FWFS", KindWrite},
		{OpWrite | OpSync | OpPreflush, 0, "FWS", KindFlush},
		{OpWrite | OpSync | OpPreflush, 512, "FWS", KindWrite},
		{OpWrite | OpSync | OpMeta, 512, "WSM", KindWrite},
		{OpFlush | OpPreflush, 0, "FF", KindFlush},
		{OpDiscard, 1 << 20, "D", KindDiscard},
		{OpSecureErase, 1 << 20, "DE", KindDiscard},
		{OpWriteZeroes, 1 << 20, "WZ", KindOther},
		{34, 0, "N", KindOther},
		{0xff, 0, "N", KindOther},
	} {
		o := IO{Op: c.op, Bytes: c.bytes}
		if got := RWBS(c.op); got != c.want || o.Kind() != c.kind {
			t.Errorf("%#x: %s of kind %s, not %s of kind %s", c.op, got, o.Kind(), c.want, c.kind)
		}
	}
	if OpKinds.String() != "other" {
		t.Error(OpKinds.String())
	}
}

// TestAWriteOfNoBytesIsAFlush: at its completion it has lost the flag.
func TestAWriteOfNoBytesIsAFlush(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want OpKind
	}{
		{Request{Op: OpWrite | OpSync}, KindFlush},
		{Request{Op: OpWrite | OpPreflush}, KindFlush},
		{Request{Op: OpFlush}, KindFlush},
		{Request{Op: OpWrite | OpPreflush, Bytes: 512}, KindWrite},
		{Request{Op: OpRead}, KindRead},
		{Request{Op: OpDiscard, Bytes: 4096}, KindDiscard},
	} {
		if got := c.r.Kind(); got != c.want {
			t.Errorf("%+v is a %s, want %s", c.r, got, c.want)
		}
	}
}
