// SPDX-License-Identifier: Apache-2.0

package json

import (
	"encoding/json"
	"io"
	"strconv"
)

// object is a JSON object whose keys keep their order.
type object []member

// stream writes a value that is not worth holding whole.
type stream func(b []byte) ([]byte, error)

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return o.append(nil) }

// append writes the object. Once a second, for every process of a machine: so
// the values that occur go without reflection.
func (o object) append(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.key), ':')
		if b, err = appendValue(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case object:
		return v.append(b)
	case stream:
		return v(b)
	case []any:
		return appendList(b, v)
	case string:
		return appendString(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint32:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float64:
		return strconv.AppendFloat(b, v, 'f', -1, 64), nil
	}
	other, err := json.Marshal(value)
	return append(b, other...), err
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendString takes what quote has made: valid UTF-8.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == '<' || c == '>' || c == '&': // as it may end in a web page
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// writeLine writes an object on one line, in one call of the writer.
func writeLine(w io.Writer, o object) error {
	b, err := o.append(nil)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
