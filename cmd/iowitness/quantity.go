// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Quantities of all flags are read here, so that each is written alike for all verbs, and refused
// in the same words: kong puts the flag before them.
//
//	duration  10s, 500ms      more than 0: without the flag there is none
//	wait      a duration from 0 on
//	interval  a duration of at least 10ms
//	size      4096, 4K, 1M    bytes, by 1024
//	buffer    2048, 2M        KiB if there is no unit: a power of two from 4K to 1G
//	count     20000, 20K      by 1000; more than 0
//	ratio     1/100, 100      one in so many
//	percent   5, 0.5, 5%      from 0 on
//	rows      20              0: all
//	duty      1s/5s           time on / cycle
func quantities() []kong.Option {
	return []kong.Option{
		kong.TypeMapper(reflect.TypeFor[time.Duration](), quantity(parseLength)),
		kong.KindMapper(reflect.Uint32, quantity(parseNumber)),
		kong.KindMapper(reflect.Int, quantity(parseNumber)),
		kong.NamedMapper("wait", quantity(parseDuration)),
		kong.NamedMapper("interval", quantity(parseInterval)),
		kong.NamedMapper("size", quantity(parseSize)),
		kong.NamedMapper("buffer", quantity(parseBuffer)),
		kong.NamedMapper("count", quantity(parseCount)),
		kong.NamedMapper("ratio", quantity(parseRatio)),
		kong.NamedMapper("percent", quantity(parsePercent)),
		kong.NamedMapper("rows", quantity(parseNumber)),
		kong.NamedMapper("duty", quantity(parseDuty)),
	}
}

// quantity makes a flag's value of a text.
func quantity[T any](parse func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		parsed, err := parse(text)
		if err != nil {
			return err
		}
		if target.Kind() == reflect.Pointer {
			target.Set(reflect.New(target.Type().Elem()))
			target = target.Elem()
		}
		value := reflect.ValueOf(parsed)
		if value.CanUint() && target.CanUint() && target.OverflowUint(value.Uint()) || value.CanUint() && target.CanInt() && value.Uint() > math.MaxInt32 {
			return tooMuch(text)
		}
		target.Set(value.Convert(target.Type()))
		return nil
	}
}

// withNegatives keeps a negative number with its flag, which kong would take for a flag of its own:
// no flag here is a digit.
func withNegatives(args []string) (joined []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if next := i + 1; strings.HasPrefix(a, "-") && !strings.Contains(a, "=") && next < len(args) && negative.MatchString(args[next]) {
			a += "=" + args[next]
			if !strings.HasPrefix(a, "--") {
				a = args[i] + args[next]
			}
			i++
		}
		joined = append(joined, a)
	}
	return joined
}

var negative = regexp.MustCompile(`^-[0-9.]`)

func tooMuch(text string) error { return fmt.Errorf("%s is too much", text) }

func isNegative(text string) bool { return negative.MatchString(text) }

// unit is a number and what follows it.
var unit = regexp.MustCompile(`^([0-9]+)([A-Za-z]*)$`)

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case isNegative(text):
		return 0, fmt.Errorf("%s: a duration cannot be negative", text)
	case err == nil:
		return d, nil
	case durations.MatchString(text):
		return 0, tooMuch(text)
	}
	return 0, fmt.Errorf("%q is no duration: write it as 10s or 500ms", text)
}

var durations = regexp.MustCompile(`^([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$`)

func parseLength(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && d == 0 {
		err = errors.New("a duration of 0 is nothing: it must be more than 0")
	}
	return d, err
}

const leastInterval = 10 * time.Millisecond

func parseInterval(text string) (time.Duration, error) {
	d, err := parseLength(text)
	if err == nil && d < leastInterval {
		err = fmt.Errorf("an interval must be at least %v, not %s", leastInterval, text)
	}
	return d, err
}

// parseNumber reads a plain number, not negative.
func parseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case isNegative(text):
		return 0, fmt.Errorf("%s: it cannot be negative", text)
	case errors.Is(err, strconv.ErrRange):
		return 0, tooMuch(text)
	case err != nil:
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}

// scaled reads a number with a unit of K, M, G or T, each so many times the one before.
func scaled(text, what string, times uint64) (uint64, error) {
	parts := unit.FindStringSubmatch(text)
	power := -1
	if parts != nil {
		name := strings.ToUpper(parts[2])
		if times == 1024 {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "B"), "I")
		}
		power = map[string]int{"": 0, "K": 1, "M": 2, "G": 3, "T": 4}[name]
		if power == 0 && name != "" {
			power = -1
		}
	}
	switch {
	case isNegative(text):
		return 0, fmt.Errorf("%s: a %s cannot be negative", text, what)
	case power < 0:
		return 0, fmt.Errorf("%q is no %s: write it as %d or 4K", text, what, 4*times)
	}
	n, err := strconv.ParseUint(parts[1], 10, 64)
	for ; err == nil && power > 0; power-- {
		high, low := bits.Mul64(n, times)
		if n = low; high > 0 {
			return 0, tooMuch(text)
		}
	}
	if err != nil {
		return 0, tooMuch(text)
	}
	return n, nil
}

func parseSize(text string) (uint64, error) { return scaled(text, "size", 1024) }

func parseCount(text string) (uint64, error) {
	n, err := scaled(text, "number", 1000)
	if err == nil && n == 0 {
		err = errors.New("it must be more than 0")
	}
	return n, err
}

// Bounds of a buffer, in KiB.
const (
	leastBuffer = 4
	mostBuffer  = 1 << 20
)

// parseBuffer gives KiB.
func parseBuffer(text string) (uint64, error) {
	n, err := parseSize(text)
	if err != nil {
		return 0, err
	}
	if strings.IndexFunc(text, func(r rune) bool { return r > '9' }) >= 0 {
		n >>= 10
	}
	if n < leastBuffer || n > mostBuffer || bits.OnesCount64(n) != 1 {
		return 0, fmt.Errorf("%s is no power of two from 4K to 1G", text)
	}
	return n, nil
}

// parseRatio reads "1/100" or "100".
func parseRatio(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "1/"), 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, tooMuch(text)
	case err != nil || n == 0:
		return 0, fmt.Errorf("%q is no ratio: write it as 1/100", text)
	}
	return n, nil
}

// mostPercent is more than any machine has of CPUs.
const mostPercent = 1e6

func parsePercent(text string) (float64, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= mostPercent) {
		return 0, fmt.Errorf("a cost is a number of percent from 0 on, not %q", text)
	}
	return percent, nil
}

// duty is a share of the time: on for some of every so much. The zero value is always on.
type duty struct{ on, every time.Duration }

func (d duty) set() bool { return d.every > d.on }

// parseDuty reads a duty cycle such as "1s/5s".
func parseDuty(text string) (d duty, err error) {
	on, every, found := strings.Cut(text, "/")
	if d.on, err = parseDuration(on); err == nil {
		d.every, err = parseDuration(every)
	}
	switch {
	case isNegative(text) || isNegative(every):
		return d, err
	case err != nil || !found:
		return d, fmt.Errorf("%q is no duty cycle: write it as time on / cycle, such as 1s/5s", text)
	case d.on < leastInterval:
		return d, fmt.Errorf("the time on must be at least %v, not %v", leastInterval, d.on)
	case d.every < d.on:
		return d, fmt.Errorf("the cycle of %v is shorter than the time on of %v", d.every, d.on)
	}
	return d, nil
}

// rowsOf is how many rows are shown (0: all), by what was asked for: documents are for programs, which want all.
func rowsOf(asked *int, json bool) int {
	switch {
	case asked != nil:
		return *asked
	case json:
		return 0
	}
	return reportRows
}

// intervalOf is the length of an interval, by what was asked for (0: nothing).
func intervalOf(asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return defaultInterval
}
