// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rig puts load on our programs and watches what comes of it: it runs them as processes under users of their own, so that the
// audit log tells their requests apart, makes the units of work, and notes when each unit reaches what is expected of it. The
// benchmark and the chaos tests share it.
package rig
