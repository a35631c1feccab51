// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// apt is a private state of apt beside the machine's own, which stays as it is.
type apt struct {
	dir  string
	lock *os.File
}

const listsLast = 20 * time.Hour // before they are fetched again

// suites are where the lines are served.
var suites = []string{
	"bullseye", "bookworm", "bookworm-updates", "bookworm-backports", "trixie", "trixie-backports", "sid",
}

var securitySuites = []string{"bullseye-security", "bookworm-security"}

// Open opens, or makes, a store of kernels in a directory and holds it until Close.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "apt", "lists", "partial"), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	return &Store{dir: dir, apt: &apt{dir: filepath.Join(dir, "apt"), lock: lock}}, nil
}

// Close lets other processes use the store.
func (s *Store) Close() error { return s.apt.lock.Close() }

// DefaultDir is where kernels are kept between runs.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "iowitness-lab"), nil
}

// command is a call of one of apt's programs with the private state.
func (a *apt) command(program string, args ...string) *exec.Cmd {
	for _, option := range []string{
		"Dir::State::Lists=" + filepath.Join(a.dir, "lists"),
		"Dir::Etc::sourcelist=" + filepath.Join(a.dir, "sources.list"),
		"Dir::Etc::sourceparts=-",
		"Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"APT::Sandbox::User=root",
		"Acquire::Languages=none",
		"Acquire::Retries=2",
	} {
		args = append([]string{"-o", option}, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd
}

// update fetches the lists, where those at hand are old.
func (a *apt) update() error {
	stamp := filepath.Join(a.dir, "updated")
	if info, err := os.Stat(stamp); err == nil && time.Since(info.ModTime()) < listsLast {
		return nil
	}
	main, security, err := mirrors("/")
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, suite := range suites {
		fmt.Fprintf(&list, "deb %s %s main\n", main, suite)
	}
	for _, suite := range securitySuites {
		if security != "" {
			fmt.Fprintf(&list, "deb %s %s main\n", security, suite)
		}
	}
	for _, dir := range []string{"cache/archives/partial", "lists/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	// A suite that the mirror has no longer is no reason to do without the others.
	if out, err := a.command("apt-get", "update").CombinedOutput(); err != nil && !strings.Contains(string(out), "Get:") && !strings.Contains(string(out), "Hit:") {
		return fmt.Errorf("fetching the lists of packages: %w: %s", err, tail(string(out)))
	}
	return os.WriteFile(stamp, nil, 0o644)
}

// names are the packages whose names match a regular expression.
func (a *apt) names(pattern string) ([]string, error) {
	if err := a.update(); err != nil {
		return nil, err
	}
	out, err := a.command("apt-cache", "search", "--names-only", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("searching packages: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names, nil
}

// unpack downloads packages and unpacks them into a root.
func (a *apt) unpack(root string, packages ...string) error {
	if err := a.update(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(a.dir, "download")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := a.command("apt-get", append([]string{"download"}, packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("downloading %s: %w: %s", strings.Join(packages, " "), err, tail(string(out)))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := run("dpkg-deb", "-x", file, root); err != nil {
			return err
		}
	}
	return nil
}

var listed = regexp.MustCompile(`^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)`)

// mirrors are the addresses from which the machine itself takes Debian and its
// security updates, in either form of apt's sources.
func mirrors(root string) (main, security string, err error) {
	var files []string
	for _, pattern := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d/*.list", "etc/apt/sources.list.d/*.sources"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		files = append(files, found...)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return "", "", err
		}
		uri := ""
		for lines := bufio.NewScanner(f); lines.Scan(); {
			line := strings.TrimSpace(lines.Text())
			key, value, _ := strings.Cut(line, ":")
			suite := ""
			if m := listed.FindStringSubmatch(line); m != nil {
				uri, suite = m[1], m[2]
			} else if key == "URIs" {
				uri, _, _ = strings.Cut(strings.TrimSpace(value), " ")
			} else if key == "Suites" {
				suite, _, _ = strings.Cut(strings.TrimSpace(value), " ")
			}
			switch {
			case strings.HasSuffix(suite, "-security"):
				security = uri
			case suite == codename(root) && main == "":
				main = uri
			}
		}
		f.Close()
	}
	if main == "" {
		return "", "", errors.New("the machine's apt sources name no Debian mirror to take kernels from")
	}
	return main, security, nil
}

// codename is the machine's own suite, such as "bookworm".
func codename(root string) string {
	release, err := os.ReadFile(filepath.Join(root, "etc/os-release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(release)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
