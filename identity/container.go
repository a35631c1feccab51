// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"regexp"
	"strings"
)

// Container is what a cgroup path tells of the container it belongs to.
type Container struct {
	ID      string // 64 hexadecimal digits as a rule, 12 or more at least; a name with lxc, nspawn and garden
	Runtime string // docker, containerd, cri-o, podman, kubernetes (a pod's, by a runtime that the path does not name), lxc, nspawn, garden; "": not known
	PodUID  string // of the Kubernetes pod, in its dashed form; "": none
}

// ContainerOf finds the innermost container of a cgroup path, of cgroup v1 or
// v2, made by a systemd or a cgroupfs driver. ok is false for what runs in no
// container. Monitors (conmon, lxc.monitor) run beside their container, not in it.
func ContainerOf(cgroupPath string) (c Container, ok bool) {
	segments := strings.Split(strings.Trim(cgroupPath, "/"), "/")
	for i := len(segments) - 1; i >= 0; i-- {
		parent := ""
		if i > 0 {
			parent = segments[i-1]
		}
		c, ok := containerOfSegment(segments[i], parent)
		if !ok {
			continue
		}
		c.PodUID = podUID(segments[:i+1])
		if c.PodUID != "" && c.Runtime == "" {
			c.Runtime = "kubernetes"
		}
		return c, true
	}
	return Container{}, false
}

// segmentRule recognises one component of a cgroup path; its first group is the id.
type segmentRule struct {
	runtime string
	parent  *regexp.Regexp // what the component above must be; nil: anything
	segment *regexp.Regexp
	id      func(string) (string, bool) // refines the id; nil: as it is
}

const hexID = `([0-9a-f]{12,64})`

// segmentRules are tried in order. Scopes are the systemd driver's, "slice:prefix:id"
// is what runc makes of a systemd path under the cgroupfs driver.
var segmentRules = []segmentRule{
	{runtime: "docker", segment: regexp.MustCompile(`^docker-` + hexID + `(?:\.scope)?$`)},
	{runtime: "docker", segment: regexp.MustCompile(`:docker:` + hexID + `$`)},
	{runtime: "docker", parent: regexp.MustCompile(`^docker$`), segment: regexp.MustCompile(`^` + hexID + `$`)},
	{runtime: "containerd", segment: regexp.MustCompile(`^(?:cri-containerd|nerdctl)-` + hexID + `(?:\.scope)?$`)},
	{runtime: "containerd", segment: regexp.MustCompile(`:(?:cri-containerd|nerdctl):` + hexID + `$`)},
	{runtime: "cri-o", segment: regexp.MustCompile(`^crio-` + hexID + `(?:\.scope)?$`)},
	{runtime: "cri-o", segment: regexp.MustCompile(`:crio:` + hexID + `$`)},
	{runtime: "podman", segment: regexp.MustCompile(`^libpod-(?:payload-)?` + hexID + `(?:\.scope)?$`)},
	{runtime: "podman", segment: regexp.MustCompile(`:libpod:` + hexID + `$`)},
	{runtime: "podman", parent: regexp.MustCompile(`^libpod_parent$`), segment: regexp.MustCompile(`^` + hexID + `$`)},
	{runtime: "lxc", segment: regexp.MustCompile(`^lxc\.payload\.(.+)$`)},
	{runtime: "lxc", parent: regexp.MustCompile(`^lxc(?:\.payload)?$`), segment: regexp.MustCompile(`^(.+)$`)},
	{runtime: "nspawn", segment: regexp.MustCompile(`^machine-(.+)\.scope$`), id: machineName},
	{runtime: "nspawn", segment: regexp.MustCompile(`^systemd-nspawn@(.+)\.service$`), id: machineName},
	{runtime: "garden", parent: regexp.MustCompile(`^garden$`), segment: regexp.MustCompile(`^([0-9A-Za-z][0-9A-Za-z-]+)$`)},
	{parent: regexp.MustCompile(`^[0-9a-f]{32}$`), segment: regexp.MustCompile(`^([0-9a-f]{32}-[0-9]+)$`)}, // ECS on Fargate: task, task-number
	{segment: regexp.MustCompile(`^([0-9a-f]{64})$`)},
}

func containerOfSegment(segment, parent string) (Container, bool) {
	for _, rule := range segmentRules {
		match := rule.segment.FindStringSubmatch(segment)
		if match == nil || (rule.parent != nil && !rule.parent.MatchString(parent)) {
			continue
		}
		c := Container{ID: match[1], Runtime: rule.runtime}
		if rule.id == nil {
			return c, true
		}
		id, ok := rule.id(match[1])
		c.ID = id
		return c, ok
	}
	return Container{}, false
}

// machineName undoes systemd's escapes. Virtual machines have machine scopes
// too: they are no containers, as their inside is not this kernel's.
func machineName(escaped string) (string, bool) {
	name := systemdEscape.ReplaceAllStringFunc(escaped, func(code string) string {
		return string(rune(hexDigit(code[2])<<4 | hexDigit(code[3])))
	})
	return name, !strings.HasPrefix(name, "qemu-")
}

var systemdEscape = regexp.MustCompile(`\\x[2-7][0-9a-f]`)

func hexDigit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}

// podSegment matches pod<uid> of the cgroupfs driver and …-pod<uid>.slice of
// systemd's, where dashes became underscores. Static pods have a uid without any.
var podSegment = regexp.MustCompile(`(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice(?::[^:]*:[^:]*)?)?$`)

func podUID(segments []string) string {
	for i := len(segments) - 1; i >= 0; i-- {
		if match := podSegment.FindStringSubmatch(segments[i]); match != nil {
			return strings.ReplaceAll(match[1], "_", "-")
		}
	}
	return ""
}
