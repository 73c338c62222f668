// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command says what a Process runs.
type Command struct {
	Name string   // for messages, e.g. "kube-apiserver"
	Path string   // absolute path of the binary
	Args []string // arguments after the program's name
	Env  []string // KEY=value, added to PATH, HOME, TMPDIR (both Dir), GORACE and GOCOVERDIR; nothing else is inherited
	Dir  string   // working directory, must exist
	Log  string   // file that standard output and standard error are appended to; default Dir/Name.log
	// Isolated makes the program the first process of namespaces of its own (processes, mounts, network, IPC, host name): what is started
	// in them ends with it. Linux as root only.
	Isolated bool
	// Network is where the program runs; nil is the network of this process.
	Network *Network
}

// Process is one running program. It ends with this process, also when this process is killed (on Linux).
type Process struct {
	command Command

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	result error
}

// Start starts the command and returns at once; it says nothing about readiness.
func Start(command Command) (*Process, error) {
	if command.Log == "" {
		command.Log = filepath.Join(command.Dir, command.Name+".log")
	}
	p := &Process{command: command}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) start() error {
	log, err := os.OpenFile(p.command.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot open the log of %s: %w", p.command.Name, err)
	}
	defer log.Close()
	Raced.add(p.command.Log)
	cmd := exec.Command(p.command.Path, p.command.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.command.Dir, p.command.environment(), log, log
	attributes := processAttributes()
	if p.command.Isolated {
		attributes = isolatedAttributes()
	}
	if err := p.command.Network.spawn(cmd, attributes); err != nil {
		return fmt.Errorf("cannot start %s: %w", p.command.Name, err)
	}
	exited := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.exited, p.result = cmd, exited, nil
	go p.reap(cmd, exited)
	return nil
}

func (c Command) environment() []string {
	env := []string{"HOME=" + c.Dir, "TMPDIR=" + c.Dir, raceOptions}
	for _, name := range []string{"PATH", "GOCOVERDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, c.Env...)
}

func (p *Process) reap(cmd *exec.Cmd, exited chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result = err
	close(exited)
}

// Name is that of the command.
func (p *Process) Name() string { return p.command.Name }

// PID returns the process id of the latest start; the program may have ended since.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Exited returns a channel that is closed when the program of the latest start has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// Running reports whether the program of the latest start has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.Exited():
		return false
	default:
		return true
	}
}

// Err returns how the program ended: nil while it runs and after exit code 0, else an *exec.ExitError.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// Kill9 kills the program and its process group with SIGKILL and returns when it is gone.
func (p *Process) Kill9() error {
	if !p.Running() {
		return nil
	}
	err := signalGroup(p.PID(), killSignal)
	<-p.Exited()
	return err
}

// Stop asks the program to end with SIGTERM, kills it with its process group after grace, and returns when it is gone.
func (p *Process) Stop(grace time.Duration) error {
	if !p.Running() {
		return nil
	}
	if err := signalGroup(p.PID(), stopSignal); err != nil {
		return err
	}
	select {
	case <-p.Exited():
		return nil
	case <-time.After(grace):
		return p.Kill9()
	}
}

// Restart kills the program if it runs and starts the same command again; the log continues in the same file.
func (p *Process) Restart() error {
	return errors.Join(p.Kill9(), p.start())
}

// PeakMemory returns the largest resident set in bytes that the program of the latest start has reached, 0 if unknown.
// It works on Linux while the program runs, and everywhere after it has ended.
func (p *Process) PeakMemory() int64 {
	if p.Running() {
		return statusSize(p.PID(), "VmHWM:")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) * maxrssUnit
}

// Memory returns the resident set in bytes of a program that runs, and how much of it is its own and not its file's. It works on Linux.
func (p *Process) Memory() (resident, own int64) {
	return statusSize(p.PID(), "VmRSS:"), statusSize(p.PID(), "RssAnon:")
}

// statusSize returns a size that Linux shows of a process, in bytes.
func statusSize(pid int, field string) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var kib int64
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
	return kib << 10
}

// LogTail returns the last lines of the program's log, for messages; an unreadable log gives its error as text.
func (p *Process) LogTail(lines int) string {
	content, err := os.ReadFile(p.command.Log)
	if err != nil {
		return err.Error()
	}
	return LastLines(string(content), lines)
}

// LastLines returns the end of a text.
func LastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// Output runs cmd until it ends or ctx does and returns its standard output.
func Output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := spawn(cmd); err != nil {
		return "", fmt.Errorf("cannot start %s: %w", strings.Join(cmd.Args, " "), err)
	}
	stop := context.AfterFunc(ctx, func() { signalGroup(cmd.Process.Pid, killSignal) })
	err := cmd.Wait()
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, LastLines(stderr.String(), 20))
	}
	return stdout.String(), nil
}
