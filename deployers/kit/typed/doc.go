// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package typed judges documents of others before they become Go types of Kubernetes. A quantity is worked out when it is decoded, whatever its exponent: a
// few bytes take hours, or a panic. A strategic merge compares each element of a list with each other one. Only fields of these types count, so that a label
// may look like a number. It promises nothing to others.
package typed
