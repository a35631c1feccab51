// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Config is what the kernel was built with, of the options asked for.
type Config struct {
	Source string // the file it was read from; "": none is there, and nothing is known
	values map[string]Setting
}

// Option is On if the kernel, or a module of it, was built with an option such
// as CONFIG_KPROBES, Absent if it was not, and Unknown without a configuration.
func (c Config) Option(name string) Setting {
	if c.Source == "" {
		return Unknown
	}
	if s, ok := c.values[name]; ok {
		return s
	}
	return Absent
}

// Without names those of the options that the kernel is known to lack.
func (c Config) Without(names ...string) []string {
	var lacking []string
	for _, name := range names {
		if c.Option(name) == Absent {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// ReadConfig reads the configuration of a kernel release from where
// distributions put it below root. Only the options named are kept.
func ReadConfig(root, release string, options []string) Config {
	paths := []string{"proc/config.gz"}
	if release != "" && !strings.Contains(release, "/") {
		paths = append(paths, "boot/config-"+release, "lib/modules/"+release+"/config",
			"usr/lib/modules/"+release+"/config", "usr/lib/kernel/config-"+release)
	}
	for _, path := range paths {
		values, err := readConfig(filepath.Join(root, path), options)
		if err == nil {
			return Config{Source: "/" + path, values: values}
		}
	}
	return Config{}
}

func readConfig(path string, options []string) (map[string]Setting, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if magic, _ := r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		return parseConfig(unzipped, options)
	}
	return parseConfig(r, options)
}

// errNoConfig: some images ship a file of that name with other text in it.
var errNoConfig = errors.New("no options in the kernel's configuration")

// parseConfig reads lines such as "CONFIG_KPROBES=y" and "# CONFIG_X is not set".
func parseConfig(r io.Reader, options []string) (map[string]Setting, error) {
	values := make(map[string]Setting, len(options))
	for _, name := range options {
		values[name] = Absent
	}
	any := false
	err := eachLine(r, func(line []byte) {
		name, value, found := bytes.Cut(line, []byte{'='})
		if !found || !bytes.HasPrefix(name, []byte("CONFIG_")) {
			return
		}
		any = true
		if _, wanted := values[string(name)]; wanted && !bytes.Equal(value, []byte{'n'}) {
			values[string(name)] = On
		}
	})
	if err == nil && !any {
		err = errNoConfig
	}
	return values, err
}
