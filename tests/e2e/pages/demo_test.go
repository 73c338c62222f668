// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// A demo is what make run starts, in a folder that looks like a checkout to who follows a page.
type demo struct {
	t *testing.T
	// dir is where a person stands, tools has kubectl.
	dir, tools string

	mu    sync.Mutex
	lines []string
	read  int // lines that until has passed
}

// startDemo returns when the landscape is ready. The demo ends with the test.
func startDemo(t *testing.T) *demo {
	t.Helper()
	tools, err := binaries.Tools(t.Context(), os.Stderr, binaries.Kubectl)
	require.NoError(t, err)
	built, err := binaries.BuildProgram(t.Context(), "./tests/demo")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "p") // short, for the paths of sockets
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &demo{t: t, dir: dir, tools: filepath.Dir(tools.Path(binaries.Kubectl))}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o750))
	checkout, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(checkout, "config"), filepath.Join(dir, "config")))
	content, err := os.ReadFile(built)
	require.NoError(t, err)
	program := filepath.Join(dir, "bin", "demo")
	require.NoError(t, os.WriteFile(program, content, 0o700))
	cmd := exec.Command(program)
	cmd.Dir, cmd.Stderr = checkout, os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			d.mu.Lock()
			d.lines = append(d.lines, scanner.Text())
			d.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended
		_ = cmd.Wait()
	})
	d.until("Ctrl-C ends every process")
	return d
}

// until waits until the demo says one of some texts in a line that until has not passed yet.
func (d *demo) until(texts ...string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for d.read < len(d.lines) {
			line := d.lines[d.read]
			d.read++
			for _, text := range texts {
				if strings.Contains(line, text) {
					return true
				}
			}
		}
		return false
	}, 30*time.Minute, tick, "the demo never says one of %q", texts)
}

func (d *demo) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// suggested are the commands that the demo prints, which are indented by four spaces.
func (d *demo) suggested() []string {
	var commands []string
	for line := range strings.Lines(d.said()) {
		command, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		last := len(commands) - 1
		switch {
		case last >= 0 && strings.HasSuffix(commands[last], "\\"):
			commands[last] = strings.TrimSuffix(commands[last], "\\") + strings.TrimSpace(command)
		case indented && !strings.HasPrefix(command, " "):
			commands = append(commands, command)
		}
	}
	return commands
}
