// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory keeps what users wrote in the memory of a process. All caches of the process share one Budget in bytes. Who fills it
// pushes out his own: when it is full, the owner who holds most gives up what he has not used for the longest time. So nobody can empty
// the caches of the others, and they do not have to fetch anew what they still use. Shares say the same of what lies elsewhere, as on a disk. It promises
// nothing to others.
package memory
