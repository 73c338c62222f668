// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package platform

import (
	"errors"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// ways connect the network of a node with the one of this process: on Linux only.
type ways struct{ kubelet string }

func openWays(int, string, *programs.Network) (*ways, error) {
	return nil, errors.New("nodes need Linux")
}

func (w *ways) close() error { return nil }
