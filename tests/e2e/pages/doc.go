// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pages does what pages of docs/ tell, command by command, on the landscape that make run starts, and compares what they show with
// what comes out. With -update it writes the output into the pages.
package pages
