// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// ownerMarker makes this test binary start a node, say its process and wait to be killed.
const ownerMarker = "NODE_TEST_OWNER"

// sleeper starts a platform with a node of its own, and a Pod on it that goes on for an hour.
func sleeper(ctx context.Context) (*platform.Platform, error) {
	p, err := platform.Start(ctx, platform.Options{Node: true, Registry: true})
	if err != nil {
		return nil, err
	}
	image, err := platform.ShellImage()
	if err != nil {
		return p, err
	}
	if err := p.Node().ImportImage(ctx, "images.example/shell:1", image); err != nil {
		return p, err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeper", Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "main", Image: "images.example/shell:1", Command: []string{"sleep", "3600"}}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: metav1.NamespaceDefault}}
	if err := p.Await(ctx, account, func() bool { return true }); err != nil {
		return p, err
	}
	if err := p.Client().Create(ctx, pod); err != nil {
		return p, err
	}
	return p, p.Await(ctx, pod, func() bool { return pod.Status.Phase == corev1.PodRunning })
}

// leastProcesses of a node with one Pod: its first one with what it waits by, containerd, kubelet, shim.
const leastProcesses = 5

// machine is what can be seen of nodes from outside.
type machine struct {
	Processes  []string // in namespaces of a node, by PID
	Groups     []string
	Members    []string // processes in Groups, by PID
	Mounts     string
	Interfaces []string
}

// look lists what belongs to the namespaces of a process and to the control groups of a folder, and what everybody shares.
func look(t *testing.T, namespace, folder string) machine {
	t.Helper()
	var seen machine
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	require.NoError(t, err)
	for _, link := range links {
		if in, err := os.Readlink(link); err == nil && in == namespace {
			seen.Processes = append(seen.Processes, strings.Split(link, "/")[2])
		}
	}
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(path, folder) {
			members, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			seen.Groups, seen.Members = append(seen.Groups, path), append(seen.Members, strings.Fields(string(members))...)
		}
		return nil // groups of others come and go
	})
	require.NoError(t, err)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	seen.Mounts = string(mounts)
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range interfaces {
		seen.Interfaces = append(seen.Interfaces, i.Name)
	}
	slices.Sort(seen.Interfaces)
	return seen
}

func TestNothingOfANodeIsLeftAfterStop(t *testing.T) {
	r := newRig(t) // its node runs beside the one that is stopped
	before := look(t, "", "none")
	p, err := sleeper(r.ctx)
	require.NoError(t, err)
	folder := filepath.Base(filepath.Dir(filepath.Dir(p.KubeconfigPath)))
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.Node().PID()))
	require.NoError(t, err)
	running := look(t, namespace, folder)
	require.GreaterOrEqual(t, len(running.Processes), leastProcesses)
	require.NotEmpty(t, running.Members, "the containers must be in control groups of the platform")

	require.NoError(t, p.Stop())

	assert.Equal(t, before, look(t, namespace, folder))
	assert.NoDirExists(t, filepath.Dir(filepath.Dir(p.KubeconfigPath)))
	r.run(r.pod("other", r.shell(), "true"))
}

// playOwner is what this test binary does when TestANodeEndsWithItsOwner starts it.
func playOwner() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := sleeper(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Node().PID(), filepath.Dir(filepath.Dir(p.KubeconfigPath)))
	select {}
}

func TestANodeEndsWithItsOwner(t *testing.T) {
	r := newRig(t)
	before := look(t, "", "none")
	owner := exec.CommandContext(r.ctx, os.Args[0])
	owner.Env = append(os.Environ(), ownerMarker+"=1")
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
	_, err = strconv.Atoi(pid)
	require.NoError(t, err)
	namespace, err := os.Readlink("/proc/" + pid + "/ns/pid")
	require.NoError(t, err)

	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())

	require.Eventually(t, func() bool { return len(look(t, namespace, "none").Processes) == 0 }, time.Minute, 50*time.Millisecond)
	assert.Equal(t, before.Interfaces, look(t, namespace, "none").Interfaces)
	assert.NotEmpty(t, look(t, namespace, filepath.Base(folder)).Groups, "nobody was there to remove them")
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(folder, long, long))
	swept, err := platform.Start(r.ctx, platform.Options{})
	require.NoError(t, err)
	require.NoError(t, swept.Stop())
	assert.Equal(t, before, look(t, namespace, filepath.Base(folder)))
	assert.NoDirExists(t, folder)
}
