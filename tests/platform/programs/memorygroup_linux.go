// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MemoryGroup is a control group of the kernel that counts the memory of a process and its children as the kubelet counts that of a
// container.
type MemoryGroup struct {
	dir      string
	usage    string // file with the bytes in use
	inactive string // line of memory.stat with the bytes of files that the kernel takes away first
}

// NewMemoryGroup makes a control group. It needs Linux, root and a controller of memory, of version 1 or 2 of control groups. Close removes it.
func NewMemoryGroup(name string) (*MemoryGroup, error) {
	var problems error
	for _, g := range []*MemoryGroup{
		{dir: filepath.Join("/sys/fs/cgroup/memory", name), usage: "memory.usage_in_bytes", inactive: "total_inactive_file"},
		{dir: filepath.Join("/sys/fs/cgroup", name), usage: "memory.current", inactive: "inactive_file"},
	} {
		err := os.Mkdir(g.dir, 0o755)
		if err == nil {
			if _, err = g.WorkingSet(); err == nil {
				return g, nil
			}
			err = errors.Join(err, g.Close())
		}
		problems = errors.Join(problems, err)
	}
	return nil, fmt.Errorf("no control group for memory: %w", problems)
}

// Contain returns command, run within the group from its first instruction. The program is a copy in Dir that nobody has read yet, so that
// the pages of its file count for the group.
func (g *MemoryGroup) Contain(command Command) (Command, error) {
	program, err := copyUnread(command.Path, command.Dir)
	if err != nil {
		return Command{}, err
	}
	const enter = `echo $$ > "$0" && exec "$@"`
	command.Args = append([]string{"-c", enter, filepath.Join(g.dir, "cgroup.procs"), program}, command.Args...)
	command.Path = "/bin/sh"
	return command, nil
}

// copyUnread copies a program into dir and takes the copy out of the kernel's cache.
func copyUnread(path, dir string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	file, err := os.OpenFile(filepath.Join(dir, filepath.Base(path)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	return file.Name(), errors.Join(err, file.Sync(), unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED), file.Close())
}

// WorkingSet returns the bytes in use without those of files that were not used lately: what the kubelet reports for a container and
// judges it by when memory is short.
func (g *MemoryGroup) WorkingSet() (int64, error) {
	content, err := os.ReadFile(filepath.Join(g.dir, g.usage))
	if err != nil {
		return 0, err
	}
	usage, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	if err != nil {
		return 0, err
	}
	content, err = os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), " "); name == g.inactive {
			inactive, err := strconv.ParseInt(value, 10, 64)
			return max(usage-inactive, 0), err
		}
	}
	return 0, fmt.Errorf("%s has no line %s", g.dir, g.inactive)
}

// Close removes the group. Its processes must have ended.
func (g *MemoryGroup) Close() error { return os.Remove(g.dir) }
