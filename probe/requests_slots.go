// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"unsafe"
)

// eachSlot tells the places of a table of slots in the kernel side's memory, whose
// read fills a part of a slot, from its beginning.
func (w *Requests) eachSlot(table string, tell func(read func(part []byte) error) error) error {
	m := w.collection.Maps[table]
	memory, err := m.Memory()
	if err != nil {
		return err
	}
	for i := range m.MaxEntries() {
		at := int64(i) * int64(m.ValueSize())
		if err := tell(func(part []byte) error { _, err := memory.ReadAt(part, at); return err }); err != nil {
			return err
		}
	}
	return nil
}

// slotSums tells the keys and sums that are in slots.
func (w *Requests) slotSums(tell func(key, sum []byte) error) error {
	const (
		keyEnds = unsafe.Offsetof(blockSumSlot{}.Claims)
		named   = unsafe.Offsetof(blockSumSlot{}.IsNamed)
		begins  = unsafe.Offsetof(blockSumSlot{}.Sum)
	)
	slot := make([]byte, unsafe.Sizeof(blockSumSlot{}))
	return w.eachSlot("slot_sums", func(read func([]byte) error) error {
		if err := read(slot[:begins]); err != nil || binary.NativeEndian.Uint32(slot[named:]) == 0 {
			return err
		}
		if err := read(slot); err != nil {
			return err
		}
		return tell(slot[:keyEnds], slot[begins:])
	})
}

// lives is the number of requests and bios that are followed now.
func (w *Requests) lives() (n uint64, err error) {
	of := make([]byte, unsafe.Sizeof(blockLifeSlot{}.Of))
	err = w.eachSlot("lives", func(read func([]byte) error) error {
		err := read(of)
		if binary.NativeEndian.Uint64(of) != 0 {
			n++
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	var key uint64
	var life []byte
	spilled := w.collection.Maps["spilled_lives"].Iterate()
	for spilled.Next(&key, &life) {
		n++
	}
	return n, spilled.Err()
}
