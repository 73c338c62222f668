// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine runs Helm. It is the only package of this module that may import helm.sh/helm: everything it takes and gives is
// of its own types, so that another version of Helm means another engine and nothing else.
//
// Every operation is bound to its context down to the single request: once the context has ended, nothing that Helm left running
// in the background can reach the API server any more. A release is therefore never changed by two jobs at a time, and a release
// that such an end left pending can be taken over safely. It promises nothing to others.
package engine
