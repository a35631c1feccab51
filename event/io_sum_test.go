// SPDX-License-Identifier: Apache-2.0

package event

import (
	"reflect"
	"testing"
)

// TestASumIsWhatItWasAndWhatCameSince: adding what a sum has grown by to what it was gives it again.
func TestASumIsWhatItWasAndWhatCameSince(t *testing.T) {
	before, now := IOSum{Owner: Task{1, 2, "dd"}}, IOSum{Owner: Task{1, 2, "dd"}}
	fill(reflect.ValueOf(&before).Elem(), 3)
	fill(reflect.ValueOf(&now).Elem(), 7)
	before.DeviceHist, now.DeviceHist = Hist{{Slot: 4, N: 1}}, Hist{{Slot: 4, N: 3}, {Slot: 9, N: 2}}
	before.TotalHist, now.TotalHist = Hist{{Slot: 1, N: 1}}, Hist{{Slot: 0, N: 5}, {Slot: 1, N: 1}}
	sum := before
	sum.DeviceHist, sum.TotalHist = append(Hist(nil), before.DeviceHist...), append(Hist(nil), before.TotalHist...)
	grown := now.Since(&before)
	if grown.Count != 4 || grown.Phases[PhaseTotal].NS != 4 || grown.Sizes[3] != 4 {
		t.Errorf("grown by %+v", grown)
	}
	sum.Add(&grown)
	if !reflect.DeepEqual(sum, now) {
		t.Errorf("got  %+v\nwant %+v", sum, now)
	}
}

// fill sets every number but those of the owner.
func fill(v reflect.Value, n uint64) {
	switch v.Kind() {
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Owner" {
				fill(v.Field(i), n)
			}
		}
	}
}
