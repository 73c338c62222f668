// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package keychain reads logins for registries from Docker and OCM configurations, and finds the one that fits a place. It knows no
// registry and opens no connection. It promises nothing to others.
package keychain
