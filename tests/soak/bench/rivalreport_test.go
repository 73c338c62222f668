// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// rivalResult is what both sides took for the same units.
type rivalResult struct {
	Name   string       `json:"name"`
	Units  int          `json:"units"`
	Ours   string       `json:"ours"`
	Theirs string       `json:"theirs"`
	Order  []string     `json:"order"`
	Pairs  []*rivalPair `json:"pairs"`
}

// rivalPair is one comparison; both legs may be part of another one as well.
type rivalPair struct {
	Concurrency string    `json:"concurrency"`
	Ours        *rivalLeg `json:"ours"`
	Theirs      *rivalLeg `json:"theirs"`
}

// rivalLeg is the life of all units with one program.
type rivalLeg struct {
	Program     string        `json:"program"`
	Concurrency int           `json:"concurrency"`
	Phases      []*rivalPhase `json:"phases"`
}

// rivalPhase is what one program used for one step, until it was quiet again. The wall time ends with the last unit.
type rivalPhase struct {
	Name string  `json:"step"`
	Wall float64 `json:"wallSeconds"`
	usage
	AnonymousMiB    float64        `json:"anonymousPeakMiB"`
	ServerCPU       float64        `json:"apiServerCPUSeconds"`
	RequestsPerUnit float64        `json:"requestsPerUnit"`
	WritesPerUnit   float64        `json:"writesPerUnit"`
	Requests        []requestCount `json:"requests"`
}

// setRequests counts the requests of some users.
func (p *rivalPhase) setRequests(requests []platform.Request, users []string, units int) {
	theirs := slices.DeleteFunc(slices.Clone(requests), func(r platform.Request) bool { return !slices.Contains(users, r.User) })
	p.Requests = counts(theirs)
	p.RequestsPerUnit = float64(len(theirs)) / float64(units)
	for _, t := range tallies(theirs) {
		p.WritesPerUnit += float64(t.Writes) / float64(units)
	}
}

// versus is one number of both sides.
type versus struct{ ours, theirs float64 }

// ratio is below 1 where ours is ahead.
func (v versus) ratio() float64 { return v.ours / max(v.theirs, 0.001) }

func (v versus) cells() []any { return []any{v.ours, v.theirs, fmt.Sprintf("%.0f %%", 100*v.ratio())} }

type rivalRow struct {
	phase                                                    string
	wall, cpu, server, requests, writes, resident, anonymous versus
}

func (p *rivalPair) rows() []rivalRow {
	var rows []rivalRow
	for i, ours := range p.Ours.Phases {
		theirs := p.Theirs.Phases[i]
		rows = append(rows, rivalRow{
			phase: ours.Name, wall: versus{ours.Wall, theirs.Wall}, cpu: versus{ours.CPU, theirs.CPU}, server: versus{ours.ServerCPU, theirs.ServerCPU},
			requests: versus{ours.RequestsPerUnit, theirs.RequestsPerUnit}, writes: versus{ours.WritesPerUnit, theirs.WritesPerUnit},
			resident: versus{ours.PeakMiB, theirs.PeakMiB}, anonymous: versus{ours.AnonymousMiB, theirs.AnonymousMiB},
		})
	}
	return rows
}

// resident compares the most memory of all phases.
func (p *rivalPair) resident() versus {
	var most versus
	for _, row := range p.rows() {
		most = versus{max(most.ours, row.resident.ours), max(most.theirs, row.resident.theirs)}
	}
	return most
}

func (r *rivalResult) write(p page) {
	fmt.Fprintf(p, "\n-- %s: %d units of %d objects, %s (left) against %s (right), in this order: %s\n", r.Name, r.Units, objectsPerUnit, r.Ours, r.Theirs,
		strings.Join(r.Order, ", "))
	for _, pair := range r.Pairs {
		fmt.Fprintf(p, "\n   concurrency: %s, %d against %d\n", pair.Concurrency, pair.Ours.Concurrency, pair.Theirs.Concurrency)
		rows := pair.rows()
		for _, table := range []struct {
			names   [2]string
			columns func(rivalRow) [2]versus
		}{
			{[2]string{"wall s", "CPU s"}, func(row rivalRow) [2]versus { return [2]versus{row.wall, row.cpu} }},
			{[2]string{"requests/unit", "writes/unit"}, func(row rivalRow) [2]versus { return [2]versus{row.requests, row.writes} }},
			{[2]string{"peak MiB", "anonymous MiB"}, func(row rivalRow) [2]versus { return [2]versus{row.resident, row.anonymous} }},
			{[2]string{"API server CPU s", "wall s"}, func(row rivalRow) [2]versus { return [2]versus{row.server, row.wall} }},
		} {
			p.table(func(line func(...any)) {
				line("step", table.names[0], "", "", table.names[1], "", "")
				for _, row := range rows {
					both := table.columns(row)
					line(append(append([]any{row.phase}, both[0].cells()...), both[1].cells()...)...)
				}
			})
		}
	}
	for _, leg := range []*rivalLeg{r.Pairs[0].Ours, r.Pairs[0].Theirs} {
		leg.writeRequests(p)
	}
}

// writeRequests shows what a leg asked for at least once in ten units.
func (l *rivalLeg) writeRequests(p page) {
	for _, phase := range l.Phases {
		fmt.Fprintf(p, "\n   %s, %s: requests\n", l.Program, phase.Name)
		total := max(phase.RequestsPerUnit, 0.001)
		units := 0.0
		for _, group := range phase.Requests {
			units += float64(group.Count)
		}
		units /= total
		p.table(func(row func(...any)) {
			row("user", "verb", "resource", "code", "per unit")
			for _, group := range phase.Requests {
				if each := float64(group.Count) / units; each >= 0.1 {
					row(group.User, group.Verb, strings.TrimSuffix(group.Resource+"/"+group.Subresource, "/"), group.Code, each)
				}
			}
		})
	}
}

// anonymousEvery is how often the anonymous memory of a process is looked at.
const anonymousEvery = 50 * time.Millisecond

// watchAnonymous begins to look at the memory of a process that is not a file's. The returned function ends that and returns the most in MiB.
func watchAnonymous(pid int) func() float64 {
	stop, file := make(chan struct{}), fmt.Sprintf("/proc/%d/status", pid)
	var wg sync.WaitGroup
	most := 0
	wg.Go(func() {
		ticker := time.NewTicker(anonymousEvery)
		defer ticker.Stop()
		for {
			var kib int
			_, _ = fmt.Sscan(procField(file, "RssAnon"), &kib)
			most = max(most, kib)
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	})
	return func() float64 {
		close(stop)
		wg.Wait()
		return float64(most) / 1024
	}
}
