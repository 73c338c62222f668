// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package signing signs component versions with all behind them, and verifies what others have signed. It knows descriptors only, not where
// they lie. It promises nothing to others.
package signing
