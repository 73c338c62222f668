// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures how fast and how quietly our programs work, as processes on a real API server:
//
//	go test ./tests/soak/bench -run '^$' -bench . -benchtime 1x -timeout 120m
//
// A benchmark fails when an object does not get where it should; its numbers are reported, not judged. A readable report follows the
// results of the go command. Flags behind -args (or the environment variable in brackets) shape the run:
//
//	-report FILE      [LANDSCAPER_BENCH_REPORT]   also write the report as JSON
//	-profiles DIR     [LANDSCAPER_BENCH_PROFILES] save CPU, heap, mutex and allocation profiles of our programs and the API server
//	-sizes 200,1000,5000 [LANDSCAPER_BENCH_SIZES]    numbers of Installations
//	-workers 16       parallel writers of the harness and of the floor
//	-rest 30s         how long the programs are watched at rest
//	-rival-units 200  charts or sets of manifests that ours and Flux's deploy (BenchmarkRivals)
//	-landscaper FILE  [LANDSCAPER_BENCH_BINARY]   measure this binary instead of the one of this checkout, e.g. to compare
//	-landscaper-args  arguments for our programs, separated by spaces
//
// The report has the host, its disk and the versions; wall time and latencies of creating, changing and deleting; CPU, memory and
// allocations of every process, the CPU with that of its children; every request by user; the floor, which is how fast the same servers take as many plain writes; what
// our programs do at rest and at a restart; how their work queues keep up (BenchmarkLeaf); how fast data flows through a chain of
// units (BenchmarkChain) and from one to many (BenchmarkFan); how often blobs of a component version are downloaded that many
// units use (BenchmarkComponent); a few units beside many objects of other namespaces (BenchmarkElsewhere); how soon a unit alone begins and ends (BenchmarkIdle); where its time
// goes, from the Installation to the deployed object and back, alone and in a burst (BenchmarkStages); and how our deployers compare with
// the controllers of Flux that do the same (BenchmarkRivals). To read its numbers:
//
//   - The disk is measured for the description of the host only. etcd runs without fsync here, so that hardly a number depends on it.
//   - Depths of work queues are sampled every two seconds, or more rarely where the metrics are long, and miss short peaks. Mean
//     times in the queue and of reconciling are exact, percentiles are estimates within the buckets of the programs' own histograms.
//   - Stages are seen by the watches of the harness, one per kind. A stage may therefore seem some milliseconds too short, even
//     negative, and its neighbour as much too long; the whole is not affected.
//   - Rivals act on the same API server one after the other, each alone and with everything gone that the other brought. Both post events and
//     serve metrics; neither elects a leader. The harness plays the Execution: its writes are nobody's, and it writes each object of ours twice, to
//     hand the job over. What source-controller does is nobody's either. Both sides wait until what they have deployed is ready.
//
// Paths of files are relative to this folder unless they are absolute.
package bench
