// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"io/fs"
	"strings"
)

// ModuleFacts is what decides whether a module can be built and loaded here.
type ModuleFacts struct {
	Supported Setting // On: /proc/modules is there
	Disabled  Setting // kernel.modules_disabled: On forbids loading until the next boot
	Signed    Setting // On: only signed modules are loaded (module.sig_enforce)
	Headers   string  // directory of this kernel's headers and Makefile; "": not installed
}

// ReadModuleFacts reads them below root, for a kernel release.
func ReadModuleFacts(root, release string) ModuleFacts {
	m := ModuleFacts{
		Supported: presence(root, "proc/modules"),
		Disabled:  toggle(root, "proc/sys/kernel/modules_disabled"),
		Signed:    letter(root, "sys/module/module/parameters/sig_enforce"),
	}
	if release == "" || strings.Contains(release, "/") {
		return m
	}
	for _, dir := range []string{"lib/modules/" + release + "/build", "usr/src/linux-headers-" + release, "usr/src/kernels/" + release} {
		if presence(root, dir+"/Makefile") == On {
			m.Headers = "/" + dir
			break
		}
	}
	return m
}

// letter reads a boolean parameter of a module: Y or N.
func letter(root, path string) Setting {
	text, err := readText(root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent
	case text == "Y" || text == "1":
		return On
	case text == "N" || text == "0":
		return Off
	}
	return Unknown
}

// ModuleLoaded says whether a module is loaded, or built in and known by its parameters.
func ModuleLoaded(root, name string) bool { return presence(root, "sys/module/"+name) == On }
