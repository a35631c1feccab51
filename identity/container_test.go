// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/identity"
)

const (
	id1  = "3fae0c8b5a1d4e2f9b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f50"
	id2  = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	uid  = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
	uid_ = "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
	task = "0123456789abcdef0123456789abcdef"
)

var containerPaths = map[string]identity.Container{
	// Docker
	"/docker/" + id1:                             {ID: id1, Runtime: "docker"},
	"/docker/" + id1 + "/init.scope":             {ID: id1, Runtime: "docker"},
	"/docker/" + id1[:12]:                        {ID: id1[:12], Runtime: "docker"},
	"/system.slice/docker-" + id1 + ".scope":     {ID: id1, Runtime: "docker"},
	"/system.slice/docker.service/docker/" + id1: {ID: id1, Runtime: "docker"},
	"/system.slice:docker:" + id1:                {ID: id1, Runtime: "docker"},
	"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id1 + ".scope": {ID: id1, Runtime: "docker"},
	// Kubernetes
	"/kubepods/besteffort/pod" + uid + "/" + id1: {ID: id1, Runtime: "kubernetes", PodUID: uid},
	"/kubepods/pod" + task + "/" + id1:           {ID: id1, Runtime: "kubernetes", PodUID: task}, // a static pod
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope":               {ID: id1, Runtime: "containerd", PodUID: uid},
	"/kubepods.slice/kubepods-pod" + uid_ + ".slice/crio-" + id1 + ".scope":                                                            {ID: id1, Runtime: "cri-o", PodUID: uid},
	"/kubepods.slice/kubepods-pod" + uid_ + ".slice/crio-" + id1 + ".scope/container":                                                  {ID: id1, Runtime: "cri-o", PodUID: uid},
	"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + uid_ + ".slice/docker-" + id1 + ".scope":                     {ID: id1, Runtime: "docker", PodUID: uid},
	"/system.slice/containerd.service/kubepods-burstable-pod" + uid_ + ".slice:cri-containerd:" + id1:                                  {ID: id1, Runtime: "containerd", PodUID: uid},
	"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope":                    {ID: id1, Runtime: "containerd", PodUID: uid},
	"/docker/" + id2 + "/kubepods/burstable/pod" + uid + "/" + id1:                                                                     {ID: id1, Runtime: "kubernetes", PodUID: uid},
	"/docker/" + id2 + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope": {ID: id1, Runtime: "containerd", PodUID: uid},
	"/system.slice/docker-" + id2 + ".scope/docker/" + id1:                                                                             {ID: id1, Runtime: "docker"},
	// a container inside a pod's container is not of the pod's runtime, but of its pod
	"/kubepods/pod" + uid + "/" + id2 + "/docker/" + id1: {ID: id1, Runtime: "docker", PodUID: uid},
	// Podman
	"/machine.slice/libpod-" + id1 + ".scope":                                                     {ID: id1, Runtime: "podman"},
	"/machine.slice/libpod-" + id1 + ".scope/container":                                           {ID: id1, Runtime: "podman"},
	"/libpod_parent/libpod-" + id1:                                                                {ID: id1, Runtime: "podman"},
	"/libpod_parent/" + id1:                                                                       {ID: id1, Runtime: "podman"},
	"/machine.slice/machine-libpod_pod_" + id2 + ".slice/libpod-" + id1 + ".scope":                {ID: id1, Runtime: "podman"},
	"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id1 + ".scope/container": {ID: id1, Runtime: "podman"},
	"/system.slice/web.service/libpod-payload-" + id1:                                             {ID: id1, Runtime: "podman"},
	// others
	"/ecs/" + task + "/" + id1:                                             {ID: id1},
	"/ecs/" + task + "/" + task + "-1234567890":                            {ID: task + "-1234567890"},
	"/ecstasks.slice/ecstasks-" + task + ".slice/docker-" + id1 + ".scope": {ID: id1, Runtime: "docker"},
	"/actions_job/" + id1:                                                  {ID: id1},
	"/default/nerdctl-" + id1 + ".scope":                                   {ID: id1, Runtime: "containerd"},
	"/lxc/web-1":                                                           {ID: "web-1", Runtime: "lxc"},
	"/lxc/101/ns/system.slice/cron.service":                                {ID: "101", Runtime: "lxc"},
	"/lxc.payload.web/init.scope":                                          {ID: "web", Runtime: "lxc"},
	"/lxc.payload/web/init.scope":                                          {ID: "web", Runtime: "lxc"},
	"/lxc/host/docker/" + id1:                                              {ID: id1, Runtime: "docker"},
	`/machine.slice/machine-debian\x2dtree.scope/payload`:                  {ID: "debian-tree", Runtime: "nspawn"},
	"/machine.slice/systemd-nspawn@web.service/payload/x":                  {ID: "web", Runtime: "nspawn"},
	"/garden/1f2e3d4c-aaaa-bbbb-cccc-0123456789ab":                         {ID: "1f2e3d4c-aaaa-bbbb-cccc-0123456789ab", Runtime: "garden"},
	"/garden/jlhm6ptgrh6":                                                  {ID: "jlhm6ptgrh6", Runtime: "garden"},
	// a monitor in a container belongs to that container
	"/docker/" + id2 + "/machine.slice/crio-conmon-" + id1 + ".scope": {ID: id2, Runtime: "docker"},
}

var noContainerPaths = []string{
	"", "/", "//", "/init.scope",
	"/system.slice/docker.service",
	"/system.slice/ssh.service",
	"/system.slice/system-getty.slice/getty@tty1.service",
	"/user.slice/user-1000.slice/session-3.scope",
	"/user.slice/user-1000.slice/user@1000.service/app.slice/run-r" + task + ".scope",
	"/system.slice/crio-conmon-" + id1 + ".scope",
	"/machine.slice/libpod-conmon-" + id1 + ".scope",
	"/libpod_parent/conmon",
	"/lxc.monitor.web", "/lxc.monitor/web", "/lxc", "/lxc.payload", "/docker", "/garden",
	`/machine.slice/machine-qemu\x2d1\x2dvm.scope`,
	"/kubepods.slice/kubepods-burstable.slice",
	"/kubepods/besteffort/pod" + uid,
	"/process_api/" + task,
	"/docker/buildx",
	"/docker/" + id1[:11],
	"/x/" + id1 + "0", "/x/" + strings.ToUpper(id1),
}

func TestContainerOf(t *testing.T) {
	for path, want := range containerPaths {
		got, ok := identity.ContainerOf(path)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %v\n%s", path, ok, diff)
		}
	}
	for _, path := range noContainerPaths {
		if got, ok := identity.ContainerOf(path); ok || got != (identity.Container{}) {
			t.Errorf("%s is taken for %+v", path, got)
		}
	}
}

func FuzzContainerOf(f *testing.F) {
	for path := range containerPaths {
		f.Add(path)
	}
	for _, path := range noContainerPaths {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		c, ok := identity.ContainerOf(path)
		if ok != (c.ID != "") {
			t.Errorf("%q: %+v, %v", path, c, ok)
		}
		if ok && c.Runtime != "nspawn" && !strings.Contains(path, c.ID) {
			t.Errorf("%q: the id %q is not in it", path, c.ID)
		}
		if c.PodUID != "" && !strings.Contains(strings.ReplaceAll(path, "_", "-"), c.PodUID) {
			t.Errorf("%q: the pod %q is not in it", path, c.PodUID)
		}
	})
}
