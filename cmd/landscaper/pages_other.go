// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// releaseFile does nothing: how the pages of a program's file are given back depends on the system.
func releaseFile() error { return nil }
