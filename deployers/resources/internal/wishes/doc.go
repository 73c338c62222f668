// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package wishes reads what single objects ask for by annotations and labels. It is pure. It promises nothing to others.
package wishes
