// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"hash/crc32"
	"io"
	"path"
)

// maxSummed is how large a file may be that is read for its checksum.
const maxSummed = 1 << 30

// debugLink is the name of the file that has the symbols, and the checksum it must have.
func (o *object) debugLink() (name string, sum uint32, ok bool) {
	b, err := o.content(o.find(".gnu_debuglink"), 4<<10)
	if err != nil {
		return "", 0, false
	}
	end := bytes.IndexByte(b, 0)
	at := (end + 4) &^ 3
	if end <= 0 || at+4 > len(b) {
		return "", 0, false
	}
	name = string(b[:end])
	if path.Base(name) != name || name == "." || name == ".." {
		return "", 0, false
	}
	return name, o.order.Uint32(b[at:]), true
}

// debugPlaces are the paths where the symbols of a file may be: by build id, then by its link.
func debugPlaces(file, buildID, link string) (places []string) {
	const global = "/usr/lib/debug"
	if len(buildID) > 4 {
		places = append(places, global+"/.build-id/"+buildID[:2]+"/"+buildID[2:]+".debug")
	}
	if link != "" && path.IsAbs(file) {
		folder := path.Dir(file)
		places = append(places, path.Join(folder, link), path.Join(folder, ".debug", link), path.Join(global, folder, link))
	}
	return places
}

// debugSymbols adds the symbols of a file's separate debug file, looked for below a root. It must
// have the same build id, or, where there is none, the checksum of the link.
func (o *object) debugSymbols(b *builder, file string, in *root) bool {
	id := o.buildID()
	link, sum, _ := o.debugLink()
	for _, place := range debugPlaces(file, id, link) {
		if o.debugSymbolsAt(b, in, place, id, sum) {
			return true
		}
	}
	return false
}

func (o *object) debugSymbolsAt(b *builder, in *root, place, id string, sum uint32) bool {
	h, err := in.hold(place)
	if err != nil {
		return false
	}
	defer h.close()
	f, size, err := h.read()
	if err != nil {
		return false
	}
	defer f.Close()
	other, err := readObject(f, uint64(size))
	if err != nil || other.machine != o.machine || other.wide != o.wide || other.buildID() != id {
		return false
	}
	if id == "" && (size > maxSummed || !hasSum(f, size, sum)) {
		return false
	}
	return other.addSymbols(b, symtab)
}

func hasSum(in io.ReaderAt, size int64, want uint32) bool {
	sum := crc32.NewIEEE()
	_, err := io.Copy(sum, io.NewSectionReader(in, 0, size))
	return err == nil && sum.Sum32() == want
}
