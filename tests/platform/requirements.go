// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	nodeVariable = "FLUX_LANDSCAPER_NODE"
	nodeRequired = "required"
	nodeCure     = "run make prepare-node as root on Debian"
)

// nodePrograms are the programs of the distribution that a node needs, with the Debian packages that have them.
var nodePrograms = []struct{ program, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"runc", "runc"},
	{cniPlugins + "/bridge", "containernetworking-plugins"},
	{cniPlugins + "/host-local", "containernetworking-plugins"},
	{cniPlugins + "/loopback", "containernetworking-plugins"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{"nsenter", "util-linux"},
	{"mount", "mount"},
	{busybox, "busybox-static"},
}

// NodeRequired reports whether this run has to run Pods: FLUX_LANDSCAPER_NODE is "required", as in CI and in make soak.
func NodeRequired() bool { return os.Getenv(nodeVariable) == nodeRequired }

// CheckNode returns why this machine cannot run a node, or nil.
func CheckNode() error {
	if runtime.GOOS != "linux" {
		return errors.New("a node needs Linux")
	}
	if os.Geteuid() != 0 {
		return errors.New("a node needs root: " + nodeCure)
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("a node needs programs of the packages %s: %s", strings.Join(missing, ", "), nodeCure)
	}
	return nil
}

// missingPackages lists the packages whose programs are not there, in the order of nodePrograms.
func missingPackages() []string {
	var missing []string
	for _, needed := range nodePrograms {
		if _, err := exec.LookPath(needed.program); err != nil && !slices.Contains(missing, needed.pkg) {
			missing = append(missing, needed.pkg)
		}
	}
	return missing
}

// InstallNode installs the Debian packages that a node needs and that are missing, as root, and says so to log.
func InstallNode(ctx context.Context, log io.Writer) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return CheckNode()
	}
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(log, "platform: installing %s\n", strings.Join(missing, ", "))
	install := append([]string{"install", "--yes", "--no-install-recommends", "-o", "Acquire::Retries=3"}, missing...)
	err := aptGet(ctx, install...)
	if err != nil {
		// The lists of a new machine are empty, those of an old one name packages that have been replaced.
		err = errors.Join(aptGet(ctx, "update", "-o", "Acquire::Retries=3"), aptGet(ctx, install...))
	}
	if err != nil {
		return fmt.Errorf("cannot install what a node needs: %w", err)
	}
	return CheckNode()
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	_, err := programs.Output(ctx, cmd)
	return err
}

// needNode is NeedNode for a platform with a node.
func needNode(t testing.TB, options Options) {
	t.Helper()
	if options.Node {
		NeedNode(t)
	}
}

// NeedNode ends a test whose node this machine cannot run: as skipped, or as failed where a node is required. Shared and New call it for Options.Node.
func NeedNode(t testing.TB) {
	t.Helper()
	switch err := CheckNode(); {
	case err == nil:
	case NodeRequired():
		t.Fatalf("%s is %s: %v", nodeVariable, nodeRequired, err)
	default:
		t.Skip(err)
	}
}

// provided holds what NeedProgram has found, or why not, so that only the first test of a package waits for it.
var provided sync.Map

// NeedProgram returns where the program of a component lies that not every machine can download, and ends a test as skipped where this one cannot.
func NeedProgram(t testing.TB, component binaries.Component) *binaries.Binaries {
	t.Helper()
	provide, _ := provided.LoadOrStore(component, sync.OnceValues(func() (*binaries.Binaries, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return binaries.Tools(ctx, os.Stderr, component)
	}))
	found, err := provide.(func() (*binaries.Binaries, error))()
	if errors.Is(err, binaries.ErrNotDownloaded) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
