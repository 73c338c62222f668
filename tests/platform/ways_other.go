// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package platform

import "errors"

// ways connect the network of a node with the one of this process: on Linux only.
type ways struct{ kubelet string }

func openWays(int, string) (*ways, error) { return nil, errors.New("nodes need Linux") }

func (w *ways) close() error { return nil }
