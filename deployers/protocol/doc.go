// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol is the job protocol of Installations, Executions and DeployItems as every reconciler carries it out: the steps of a
// reconciliation, the three kinds of failures and what status and conditions say of them, writes with preconditions, and what the caches have not
// shown yet of the process's own writes.
package protocol
