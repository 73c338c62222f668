// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

var options struct {
	report, profiles, sizes, programArgs, binary string
	workers, deadUnits, rivalUnits               int
	rest, profileTime, deadTime                  time.Duration
}

func init() {
	flag.StringVar(&options.report, "report", os.Getenv("LANDSCAPER_BENCH_REPORT"), "file for the report as JSON")
	flag.StringVar(&options.profiles, "profiles", os.Getenv("LANDSCAPER_BENCH_PROFILES"), "folder for profiles of the programs")
	flag.StringVar(&options.sizes, "sizes", cmp.Or(os.Getenv("LANDSCAPER_BENCH_SIZES"), "200,1000,5000"), "numbers of Installations")
	flag.StringVar(&options.programArgs, "landscaper-args", os.Getenv("LANDSCAPER_BENCH_ARGS"), "arguments for our programs")
	flag.StringVar(&options.binary, "landscaper", os.Getenv("LANDSCAPER_BENCH_BINARY"), "landscaper binary to measure; by default that of this checkout")
	flag.IntVar(&options.workers, "workers", 16, "parallel writers of the harness and of the floor")
	flag.DurationVar(&options.rest, "rest", 30*time.Second, "how long the programs are watched at rest")
	flag.IntVar(&options.deadUnits, "dead-units", 1000, "number of Installations whose target does not answer")
	flag.IntVar(&options.rivalUnits, "rival-units", 200, "number of charts or sets of manifests that ours and Flux's deploy")
	flag.DurationVar(&options.deadTime, "dead-time", 10*time.Minute, "how long the target does not answer, in whole minutes")
	flag.DurationVar(&options.profileTime, "profile-time", 5*time.Second, "how long CPU profiles are, in whole seconds")
}

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if len(results.Runs)+len(results.Idle)+len(results.Stages)+len(results.Rivals) > 0 {
		fmt.Println(results.text())
	}
	if err := results.save(options.report); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// sizes are the numbers of Installations to measure.
func sizes(b *testing.B) []int {
	var numbers []int
	for text := range strings.SplitSeq(options.sizes, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || number < 1 {
			b.Fatalf("-sizes: %q is not a number of Installations", text)
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// sayf reports progress; the go command shows the log of a benchmark only at its end.
func sayf(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
