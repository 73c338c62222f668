// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads the files of a commit from a Git server.
//
// Only the smart HTTP protocol is spoken: no SSH agent, no local paths, no hooks, no submodules, and no program is run. A
// commit is downloaded without its history, to a temporary directory that is removed again; the size of the download, of
// each object and of the whole is limited before anything is unpacked into memory. Logins appear in no error.
// It promises nothing to others.
package git
