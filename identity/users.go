// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Users names user ids by the etc/passwd below a root directory. Users of
// directory services, and of containers with a passwd of their own, are not in
// it. Safe for concurrent use.
type Users struct {
	path string

	mu       sync.Mutex
	names    map[uint32]string
	modified time.Time
	checked  time.Time
}

// NewUsers reads nothing before the first name is asked for.
func NewUsers(root string) *Users {
	return &Users{path: filepath.Join(root, "etc/passwd")}
}

// Name is the user's name, or the id in decimal where there is none.
func (u *Users) Name(uid uint32) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refresh()
	if name, ok := u.names[uid]; ok {
		return name
	}
	return strconv.FormatUint(uint64(uid), 10)
}

// refresh looks at most every ten seconds whether the file has changed.
func (u *Users) refresh() {
	if time.Since(u.checked) < 10*time.Second {
		return
	}
	u.checked = time.Now()
	info, err := os.Stat(u.path)
	if err != nil || info.ModTime().Equal(u.modified) {
		return
	}
	if text, err := os.ReadFile(u.path); err == nil {
		u.names, u.modified = ParsePasswd(string(text)), info.ModTime()
	}
}

// ParsePasswd reads passwd(5): names by user id. Of several names for one id
// the first counts, as with getpwuid; lines that make no sense are passed over.
func ParsePasswd(text string) map[uint32]string {
	names := map[uint32]string{}
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ":")
		if len(fields) < 4 || fields[0] == "" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		uid, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		if _, taken := names[uint32(uid)]; !taken {
			names[uint32(uid)] = fields[0]
		}
	}
	return names
}
