// SPDX-License-Identifier: Apache-2.0

package text

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Terminal says what the output can show.
type Terminal struct {
	IsTerminal bool
	Escapes    bool // moves the cursor on request
	Color      bool
	ASCII      bool
	Size       func() (columns, lines int) // 0: no limit
}

// Inspect looks at an output and at the environment: TERM, NO_COLOR, COLUMNS,
// LINES and the locale.
func Inspect(f *os.File, getenv func(string) string) Terminal {
	fd := int(f.Fd())
	t := inspect(term.IsTerminal(fd), getenv)
	t.Size = func() (columns, lines int) {
		if t.IsTerminal {
			if columns, lines, err := term.GetSize(fd); err == nil && columns > 0 {
				return columns, max(lines, 0)
			}
		}
		return positive(getenv("COLUMNS")), positive(getenv("LINES")) * btoi(t.IsTerminal)
	}
	return t
}

func inspect(isTerminal bool, getenv func(string) string) Terminal {
	name := getenv("TERM")
	escapes := isTerminal && name != "" && name != "dumb"
	return Terminal{
		IsTerminal: isTerminal,
		Escapes:    escapes,
		Color:      escapes && getenv("NO_COLOR") == "",
		ASCII:      isTerminal && !utf8Locale(getenv),
	}
}

// utf8Locale goes by the first of the variables that is set, as setlocale does.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(getenv(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}

func positive(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 10_000 {
		return 0
	}
	return n
}

// apply gives options the terminal's size and abilities.
func (t *Terminal) apply(o Options) Options {
	if t.Size != nil {
		o.Width, o.Height = t.Size()
	}
	o.Color, o.ASCII = t.Color, t.ASCII
	return o
}

// Apply gives options what a report that is written once needs: the height does not matter to it.
func (t *Terminal) Apply(o Options) Options {
	o = t.apply(o)
	o.Height = 0
	return o
}
