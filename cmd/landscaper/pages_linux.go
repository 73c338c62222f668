// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseFile gives back the pages of the program's file that the process has mapped so far. Those that it
// uses again come back from the page cache. Mappings with pages of their own are left alone.
func releaseFile() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	var problems error
	for _, m := range mappingsOf(smaps, program) {
		for _, advice := range []int{unix.MADV_COLD, unix.MADV_DONTNEED} {
			if _, _, failure := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, uintptr(advice)); failure != 0 {
				problems = errors.Join(problems, failure)
			}
		}
	}
	return problems
}

// mapping is a range of addresses.
type mapping struct{ begin, end uintptr }

// mappingsOf returns the read-only mappings of a file of which every page is the file's, from the content of /proc/PID/smaps.
func mappingsOf(smaps []byte, file string) []mapping {
	var (
		found []mapping
		m     mapping
	)
	isCandidate := false
	lines := bufio.NewScanner(bytes.NewReader(smaps))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 5 && !strings.HasSuffix(fields[0], ":") {
			_, err := fmt.Sscanf(fields[0], "%x-%x", &m.begin, &m.end)
			isCandidate = err == nil && len(fields) == 6 && fields[5] == file && fields[1][1] == '-'
		}
		if isCandidate && len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" {
			found = append(found, m)
		}
	}
	return found
}
