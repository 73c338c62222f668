// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package transport carries requests to registries: HTTP clients that trust a caller's certificate authorities, and tries after a hiccup. It knows neither references nor logins. It promises nothing to others.
package transport
