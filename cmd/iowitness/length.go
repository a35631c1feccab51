// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"
)

// length is a time that is more than nothing if it is given.
type length time.Duration

// Decode implements kong.MapperValue.
func (l *length) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no duration: write it as 10s or 500ms", text)
	case d < 0:
		return errors.New("a duration cannot be negative")
	case d == 0:
		return errors.New("a duration of 0 is nothing to watch")
	}
	*l = length(d)
	return nil
}

func (l length) duration() time.Duration { return time.Duration(l) }
