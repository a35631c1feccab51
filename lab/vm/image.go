// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cavaliergopher/cpio"

	"github.com/iowitness/iowitness/lab/kernels"
)

// tools are the programs that tests call, taken from this machine with the
// libraries they need. Those that it lacks are missing in the guest too.
var tools = []string{
	"losetup", "mount", "umount", "mkswap", "swapon", "swapoff", "fio", "bpftool", "dmsetup", "chroot", "setpriv", "unshare", "script",
	"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "debugfs", "tune2fs", "blkid", "sync", "dd", "taskset", "stdbuf", "env", "bash", "ip",
}

// modules are what a guest can load: the devices and file systems of the tests.
// What they depend on comes with them.
var modules = []string{
	"null_blk", "scsi_debug", "sd_mod", "dm-mod", "dm-delay", "dm-flakey", "dm-crypt", "cbc", "aes_generic", "raid1", "loop", "mq-deadline", "brd", "zram", "lzo-rle", "lzo_rle", "zstd",
	"virtio_blk", "virtio_pci", "virtio_net", "nvme", "ext4", "xfs", "btrfs", "fuse", "overlay", "nfs", "nfsv4", "nfsd", "veth", "dummy", "crc32c", "crc32c_generic", "crc32c-intel", "libcrc32c",
}

// image writes an initial file system.
type image struct {
	w       *cpio.Writer
	written map[string]bool
}

func newImage(w io.Writer) *image { return &image{cpio.NewWriter(w), map[string]bool{}} }

func (i *image) dir(name string) error {
	name = strings.Trim(path.Clean(name), "/")
	if name == "" || name == "." || i.written[name] {
		return nil
	}
	if err := i.dir(path.Dir(name)); err != nil {
		return err
	}
	i.written[name] = true
	return i.w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeDir | 0o755})
}

func (i *image) bytes(name string, mode fs.FileMode, content []byte) error {
	name = strings.Trim(path.Clean(name), "/")
	if i.written[name] {
		return nil
	}
	if err := i.dir(path.Dir(name)); err != nil {
		return err
	}
	i.written[name] = true
	header := &cpio.Header{Name: name, Mode: cpio.TypeReg | cpio.FileMode(mode.Perm()), Size: int64(len(content))}
	if err := i.w.WriteHeader(header); err != nil {
		return err
	}
	_, err := i.w.Write(content)
	return err
}

func (i *image) file(name, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return i.bytes(name, info.Mode(), content)
}

// tree copies a directory's regular files.
func (i *image) tree(name, from string) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		within, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		return i.file(path.Join(name, within), file)
	})
}

// program copies a program with its interpreter and libraries, each to its own path.
func (i *image) program(file string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if err := i.file(file, real); err != nil {
		return err
	}
	needed, err := libraries(real)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, lib := range needed {
		if i.written[strings.Trim(lib, "/")] {
			continue
		}
		if err := i.program(lib); err != nil {
			return err
		}
	}
	return nil
}

var libraryDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu/ceph"}

// libraries are what a program is linked with, one level deep; none for a script.
func libraries(file string) ([]string, error) {
	f, err := elf.Open(file)
	if errors.As(err, new(*elf.FormatError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var paths []string
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return nil, err
			}
			paths = append(paths, strings.TrimRight(string(name), "\x00"))
		}
	}
	names, err := f.ImportedLibraries()
	if err != nil {
		return paths, nil // linked statically
	}
	for _, name := range names {
		for _, dir := range libraryDirs {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				paths = append(paths, filepath.Join(dir, name))
				break
			}
		}
	}
	return paths, nil
}

// kernelModules copies modules, what they depend on, and the indexes by which modprobe finds them.
func (i *image) kernelModules(k *kernels.Kernel) error {
	wanted := map[string]bool{}
	depends, err := k.Dependencies()
	if err != nil {
		return err
	}
	for _, name := range modules {
		for _, file := range depends[strings.ReplaceAll(name, "-", "_")] {
			wanted[file] = true
		}
	}
	base := path.Join("lib/modules", k.Release)
	for file := range wanted {
		if err := i.file(path.Join(base, file), filepath.Join(k.Modules(), file)); err != nil {
			return err
		}
	}
	indexes, err := filepath.Glob(filepath.Join(k.Modules(), "modules.*"))
	if err != nil {
		return err
	}
	for _, file := range indexes {
		if err := i.file(path.Join(base, filepath.Base(file)), file); err != nil {
			return err
		}
	}
	return nil
}

func (i *image) userland(more []string) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return errors.New("busybox is not installed: the guests' shell")
	}
	if err := i.file("bin/busybox", busybox); err != nil {
		return err
	}
	for _, name := range slices.Concat(tools, more) {
		if file, err := lookTool(name); err == nil {
			if err := i.program(file); err != nil {
				return err
			}
		}
	}
	for name, content := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
		"etc/group":  "root:x:0:\nnogroup:x:65534:\n",
		"etc/hosts":  "127.0.0.1 localhost guest\n",
	} {
		if err := i.bytes(name, 0o644, []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

func lookTool(name string) (string, error) {
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return exec.LookPath(name)
}

// writeImage writes all that a guest needs: init, userland, modules, plan and extra files.
func writeImage(w io.Writer, m *Machine) error {
	i := newImage(w)
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "mnt", "run", "root", "etc", "var/tmp"} {
		if err := i.dir(dir); err != nil {
			return err
		}
	}
	plan, err := json.Marshal(m.Plan)
	if err != nil {
		return err
	}
	steps := []error{
		i.file("init", m.Init), i.userland(m.Tools), i.kernelModules(m.Kernel), i.bytes(PlanPath, 0o644, plan),
	}
	for name, from := range m.Files {
		info, err := os.Stat(from)
		switch {
		case err != nil:
			steps = append(steps, err)
		case info.IsDir():
			steps = append(steps, i.dir(name), i.tree(name, from))
		default:
			steps = append(steps, i.file(name, from))
		}
	}
	return errors.Join(append(steps, i.w.Close())...)
}
