// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenants lets nine users work while a tenth does in its own namespace whatever may stop, slow or swell our processes: with rights on
// Installations, DataObjects, Targets, DeployItems, TargetSyncs, Secrets and the status of sources, and servers of its own. The nine live their
// lives as if they were alone, no process grows without bound, and nothing is held once the tenth is gone. Each act prints how long the lives took, beside how
// long they take alone; BenchmarkTenants reports the ratio of both, and at exact pace, which takes 40 minutes, the median of three has to be 1.5 at most:
//
//	make bench BENCH=Tenants
//	TEST_PACE=exact go test ./tests/soak/tenants -run TestNobodyStopsSlowsOrSwells -timeout 120m
package tenants
