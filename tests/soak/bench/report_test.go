// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results collects what the benchmarks of this process have measured.
var results = &resultSet{Host: host{CPUs: runtime.NumCPU(), LoadBefore: load()}, Begun: time.Now()}

// resultSet is the whole report.
type resultSet struct {
	Command  string            `json:"command"`
	Begun    time.Time         `json:"begun"`
	Host     host              `json:"host"`
	Versions map[string]string `json:"versions"`
	Runs     []*runResult      `json:"runs,omitempty"`
	Idle     []*idleResult     `json:"idle,omitempty"`
	Stages   []*stagesResult   `json:"stages,omitempty"`
	Dead     []*deadResult     `json:"dead,omitempty"`
	Rivals   []*rivalResult    `json:"rivals,omitempty"`
}

// runResult is what one set of units took.
type runResult struct {
	Name    string         `json:"name"`
	Units   int            `json:"units"`
	Phases  []*phase       `json:"phases"`
	Rest    *restResult    `json:"rest,omitempty"`
	Restart *restartResult `json:"restart,omitempty"`
	Floor   floorResult    `json:"floor"`
}

// ourPeakMiB is the most memory that our programs together had in any phase.
func (r *runResult) ourPeakMiB() float64 {
	var most float64
	for _, p := range r.Phases {
		var together float64
		for _, one := range p.Processes {
			if slices.Contains(ours, one.Name) {
				together += one.PeakMiB
			}
		}
		most = max(most, together)
	}
	return most
}

// complete fills in what is known at the end only.
func (s *resultSet) complete() {
	s.Command = "go test ./tests/soak/bench " + strings.Join(os.Args[1:], " ")
	s.Host.CPU, s.Host.MemoryMiB, s.Host.LoadAfter = procField("/proc/cpuinfo", "model name"), memoryMiB(), load()
	s.Versions = map[string]string{"go": runtime.Version()}
	maps.Copy(s.Versions, foundVersions)
}

// foundVersions are the versions of the API server and of what our programs are made of, as the last run found them.
var foundVersions = map[string]string{}

// save writes the report as JSON, unless the path is empty.
func (s *resultSet) save(path string) error {
	if path == "" {
		return nil
	}
	s.complete()
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the report: %w", err)
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

// page writes aligned tables.
type page struct {
	*strings.Builder
}

func (p page) table(rows func(row func(cells ...any))) {
	w := tabwriter.NewWriter(p, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows(func(cells ...any) {
		for _, cell := range cells {
			if number, ok := cell.(float64); ok {
				cell = short(number)
			}
			fmt.Fprintf(w, "%v\t", cell)
		}
		fmt.Fprintln(w)
	})
	w.Flush()
}

// short shows a number with as many digits as matter.
func short(number float64) string {
	switch {
	case number == 0:
		return "0"
	case number < 10:
		return fmt.Sprintf("%.2f", number)
	case number < 100:
		return fmt.Sprintf("%.1f", number)
	default:
		return fmt.Sprintf("%.0f", number)
	}
}

// text is the report for people.
func (s *resultSet) text() string {
	s.complete()
	p := page{&strings.Builder{}}
	fmt.Fprintf(p, "\n== flux-landscaper benchmark\n%s\n%d CPUs (%s), %d MiB, load %s before and %s after\n", s.Command, s.Host.CPUs, s.Host.CPU,
		s.Host.MemoryMiB, s.Host.LoadBefore, s.Host.LoadAfter)
	if fsync := s.Host.Fsync; fsync != nil {
		fmt.Fprintf(p, "disk: %d fsyncs of %d KiB took %s ms (p50) and %s ms (p99); etcd does not wait for the disk here\n", fsyncs, fsyncSize>>10,
			short(fsync.P50), short(fsync.P99))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(p, "%s %s  ", name, s.Versions[name])
	}
	fmt.Fprintln(p)
	for _, run := range s.Runs {
		run.write(p)
	}
	for _, idle := range s.Idle {
		idle.write(p)
	}
	for _, stages := range s.Stages {
		stages.write(p)
	}
	for _, rivals := range s.Rivals {
		rivals.write(p)
	}
	return p.String()
}

func (r *runResult) write(p page) {
	fmt.Fprintf(p, "\n-- %s: %d Installations\n", r.Name, r.Units)
	p.table(func(row func(...any)) {
		row("phase", "wall s", "p50 ms", "p90 ms", "p99 ms", "max ms", "writes/unit", "reads/unit", "target w/unit", "target r/unit", "conflicts")
		for _, one := range r.Phases {
			row(one.Name, one.Wall, one.P50, one.P90, one.P99, one.Max, one.WritesPerUnit, one.ReadsPerUnit, one.TargetWrites, one.TargetReads, one.Conflicts)
		}
	})
	p.table(func(row func(...any)) {
		row("phase", "CPU s", "CPU s / CPUs", "× floor", "× floor CPU", "watch events/unit", "watch MiB", "stored MiB")
		for _, one := range r.Phases {
			row(one.Name, one.CPU, one.CPU/float64(runtime.NumCPU()), one.TimesFloor, one.TimesFloorCPU, one.WatchEvents/float64(one.Units), one.WatchMiB, one.StorageMiB)
		}
	})
	fmt.Fprintf(p, "floor: %d units × %d writes in %s s = %s writes/s with %s ms of CPU each (%s)\n", r.Floor.Units, r.Floor.WritesPerUnit,
		short(r.Floor.Wall), short(r.Floor.Rate), short(r.Floor.CPUPerWrite), strings.Join(r.Floor.Order, ", "))
	if r.Rest != nil {
		fmt.Fprintf(p, "at rest for %s s: %s writes and %s reads per minute\n", short(r.Rest.Seconds), short(r.Rest.WritesPerMinute), short(r.Rest.ReadsPerMinute))
	}
	if r.Restart != nil {
		fmt.Fprintf(p, "restart: first write to a new Installation after %s s, succeeded after %s s, %d writes to finished units, %d reads\n",
			short(r.Restart.FirstWrite), short(r.Restart.Succeeded), r.Restart.OtherWrites, r.Restart.Reads)
	}
	fmt.Fprintf(p, "our programs together: at most %s MiB resident\n", short(r.ourPeakMiB()))
	for _, one := range r.Phases {
		one.write(p)
	}
}

func (one *phase) write(p page) {
	fmt.Fprintf(p, "\n   %s: processes\n", one.Name)
	p.table(func(row func(...any)) {
		row("process", "CPU s", "CPU ms/unit", "peak MiB", "allocated KiB/unit", "allocations/unit", "reconciles/unit")
		units := float64(one.Units)
		for _, process := range one.Processes {
			row(process.Name, process.CPU, process.CPU*1000/units, process.PeakMiB, process.AllocMiB*1024/units, process.Mallocs/units,
				perUnit(process.Reconciles, units))
		}
	})
	one.writeQueues(p)
	fmt.Fprintf(p, "   %s: requests of our programs and the target\n", one.Name)
	p.table(func(row func(...any)) {
		row("user", "verb", "resource", "code", "count", "per unit")
		for _, group := range one.Requests {
			if isOurs(group.User) {
				row(group.User, group.Verb, strings.TrimSuffix(group.Resource+"/"+group.Subresource, "/"), group.Code, group.Count, float64(group.Count)/float64(one.Units))
			}
		}
	})
	fmt.Fprintf(p, "   %s: everybody\n", one.Name)
	p.table(func(row func(...any)) {
		row("user", "writes", "reads", "watches", "conflicts", "errors")
		for _, user := range slices.Sorted(maps.Keys(one.Users)) {
			t := one.Users[user]
			row(user, t.Writes, t.Reads, t.Watches, t.Conflicts, t.Errors)
		}
	})
}

// perUnit shows values by name, divided by units.
func perUnit(values map[string]float64, units float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+" "+short(values[name]/units))
	}
	return strings.Join(parts, ", ")
}

func (r *idleResult) write(p page) {
	fmt.Fprintf(p, "\n-- %s: %d Installations one after the other, milliseconds since the Installation\n", r.Name, idleUnits)
	p.table(func(row func(...any)) {
		row("until", "p50", "p90", "p99", "max")
		row("first write", r.FirstWrite.P50, r.FirstWrite.P90, r.FirstWrite.P99, r.FirstWrite.Max)
		row("object deployed", r.Deployed.P50, r.Deployed.P90, r.Deployed.P99, r.Deployed.Max)
		row("succeeded", r.Succeeded.P50, r.Succeeded.P90, r.Succeeded.P99, r.Succeeded.Max)
	})
}
