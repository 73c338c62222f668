// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package guard sends requests to servers of strangers: it bounds the time, size and form of answers, and words errors so that they show
// nothing of what such a server says. It knows no Target and no credentials. It promises nothing to others.
package guard
