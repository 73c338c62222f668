// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command times prints where the time of a test run goes, as a Markdown table by package: compiling and linking, the start of servers, tests.
// It reads what go test has written with -json and -debug-actiongraph:
//
//	go run ./tests/times -events bin/test.json -graph bin/test.graph
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	ownModule = "github.com/flux-landscaper/flux-landscaper/"
	others    = "modules of others"
	// least is the number of seconds from which on a package has a row of its own.
	least = 2
)

// row is the seconds of one package.
type row struct {
	name string
	// build is the processor time of compiling the package with its tests and of linking them.
	build float64
	// servers and tests are on the clock.
	servers, tests float64
}

func (r row) sum() float64 { return r.build + r.servers + r.tests }

// table has a row for each package that took time.
type table map[string]*row

func (t table) of(pkg string) *row {
	name := others
	if own, ok := strings.CutPrefix(pkg, ownModule); ok {
		name, _, _ = strings.Cut(own, " ") // "pkg [pkg.test]" is a package that was compiled again for the tests of another one
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")
	}
	if t[name] == nil {
		t[name] = &row{name: name}
	}
	return t[name]
}

func main() {
	events := flag.String("events", "bin/test.json", "what go test -json has printed")
	graph := flag.String("graph", "bin/test.graph", "what go test -debug-actiongraph has written")
	flag.Parse()
	found := table{}
	if err := errors.Join(read(*graph, found.addBuilds), read(*events, found.addTests)); err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(1)
	}
	found.print(os.Stdout)
}

func read(path string, add func(*json.Decoder) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := add(json.NewDecoder(file)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addBuilds adds the processor time of each compilation and each link.
func (t table) addBuilds(decoder *json.Decoder) error {
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys time.Duration
	}
	if err := decoder.Decode(&actions); err != nil {
		return err
	}
	for _, action := range actions {
		if action.Mode == "build" || action.Mode == "link" {
			t.of(action.Package).build += (action.CmdUser + action.CmdSys).Seconds()
		}
	}
	return nil
}

// startOfServers is what the test platform says when a cluster answers.
var startOfServers = regexp.MustCompile(`^platform: cluster \S+ is ready after (\S+)\n$`)

// addTests adds the time that the tests of each package took, and of it what the start of servers took.
func (t table) addTests(decoder *json.Decoder) error {
	for {
		var event struct {
			Action, Package, Test, Output string
			Elapsed                       float64
		}
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if started := startOfServers.FindStringSubmatch(event.Output); started != nil {
			took, err := time.ParseDuration(started[1])
			if err != nil {
				return err
			}
			t.of(event.Package).servers += took.Seconds()
			t.of(event.Package).tests -= took.Seconds()
		}
		if event.Action == "fail" {
			fmt.Fprintln(os.Stderr, "failed:", event.Package, event.Test)
		}
		if event.Test == "" {
			t.of(event.Package).tests += event.Elapsed
		}
	}
}

func (t table) print(out io.Writer) {
	rows := slices.SortedFunc(maps.Values(t), func(a, b *row) int { return cmp.Compare(b.sum(), a.sum()) })
	small, total, count := row{}, row{name: "**all**"}, 0
	fmt.Fprintln(out, "| Package | compile and link, processor | start of servers | tests |\n|---|---|---|---|")
	for _, r := range rows {
		total.build, total.servers, total.tests = total.build+r.build, total.servers+r.servers, total.tests+r.tests
		if r.sum() < least {
			small.build, small.servers, small.tests = small.build+r.build, small.servers+r.servers, small.tests+r.tests
			count++
			continue
		}
		r.print(out)
	}
	small.name = fmt.Sprintf("%d packages of less than %d s", count, least)
	small.print(out)
	total.print(out)
}

func (r row) print(out io.Writer) {
	fmt.Fprintf(out, "| %s | %.0f s | %.0f s | %.0f s |\n", r.name, r.build, r.servers, r.tests)
}
