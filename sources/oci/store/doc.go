// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps content on disk under its digest, and remembers facts about it without naming them.
//
// Store holds the content: what is written is verified before it appears, in one pass and never whole in memory, and what
// is read is verified again, so neither a crash nor a damaged disk can make it serve anything else. Of the owner who
// has most the least recently used content goes first; what somebody reads stays.
//
// Ledger holds small values under keys that are hashed with a salt of the directory: whoever sees the disk learns neither
// hosts nor names nor credentials.
//
// A directory belongs to one process: two must not share it. It promises nothing to others.
package store
