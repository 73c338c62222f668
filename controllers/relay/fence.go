// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import "strings"

// fenceOf returns what a caller belongs to: the namespace of a ServiceAccount, in which the agent of an Environment and all its deployers are, else itself.
func fenceOf(caller string) string {
	account, isAccount := strings.CutPrefix(caller, "system:serviceaccount:")
	namespace, _, hasName := strings.Cut(account, ":")
	if !isAccount || !hasName {
		return caller
	}
	return "namespace " + namespace
}
