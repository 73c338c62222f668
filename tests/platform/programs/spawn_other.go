// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package programs

import "syscall"

// maxrssUnit is the number of bytes that rusage counts the resident set in.
const maxrssUnit = 1

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isolatedAttributes is for Linux only: CheckNode refuses other systems before.
func isolatedAttributes() *syscall.SysProcAttr { return processAttributes() }
