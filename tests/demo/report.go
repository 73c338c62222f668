// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A report says what happens: on a terminal the tree changes in place, else each change is a line. The end of each round, from the first
// sign of a change until everything is ready, is said in both.
type report struct {
	screen    *screen
	landscape *landscape
	shown     map[key]row
	began     time.Time      // of the round that is going on
	settled   map[string]int // the ended runs per Installation when the last round ended
	calm      bool           // no round is going on
}

func newReport(screen *screen, began time.Time) *report {
	return &report{screen: screen, landscape: newLandscape(), shown: map[key]row{}, settled: map[string]int{}, began: began}
}

// take takes a change in, shows it, and reports whether everything has just become ready.
func (r *report) take(c change, now time.Time) (settled bool) {
	r.landscape.apply(c, now)
	r.lines(now)
	r.paint(now)
	_, ready := r.landscape.ready()
	switch {
	case ready && !r.calm:
		r.calm = true
		r.finish(now)
		return true
	case !ready && r.calm:
		r.calm, r.began = false, now
	}
	return false
}

// animate lets times and spinners move while a round is going on.
func (r *report) animate(now time.Time) {
	if !r.calm {
		r.paint(now)
	}
}

// paint shows the tree in place.
func (r *report) paint(now time.Time) {
	if !r.screen.live {
		return
	}
	flat := rows(r.landscape.tree(now))
	for i := range flat {
		if flat[i].mark != "" && flat[i].state == busy {
			flat[i].mark = string(frame(now))
		}
	}
	r.screen.show(append([]string{""}, table(flat, r.screen.paint)...))
}

// lines says each change once, where there is no terminal.
func (r *report) lines(now time.Time) {
	if r.screen.live {
		return
	}
	gone := maps.Clone(r.shown)
	for _, current := range rows(r.landscape.tree(now)) {
		if current.id == (key{}) {
			continue
		}
		delete(gone, current.id)
		previous, known := r.shown[current.id]
		r.shown[current.id] = current
		if !known || current.phase != previous.phase || current.why != previous.why || current.revision != previous.revision {
			r.line(now, current)
		}
	}
	for id, last := range gone {
		delete(r.shown, id)
		last.phase, last.why, last.revision = "Gone", "", ""
		r.line(now, last)
	}
}

func (r *report) line(now time.Time, changed row) {
	line := fmt.Sprintf("%s  %-28s %-12s %-24s %s", now.Format(time.TimeOnly), strings.TrimLeft(changed.title, "│├└─ "), changed.phase,
		changed.revision, changed.why)
	r.screen.say(strings.TrimRight(line, " "))
}

// finish sums a round up and, without a terminal, prints the tree.
func (r *report) finish(now time.Time) {
	revision, _ := r.landscape.ready()
	counts := r.landscape.runs()
	r.screen.sayf("%s %s  %s is deployed after %s: %s.", r.screen.paint.green("✓"), now.Format(time.TimeOnly),
		shortRevision(revision), took(now.Sub(r.began)), difference(r.settled, counts))
	r.settled = counts
	if !r.screen.live {
		r.tree()
	}
}

// difference says which Installations have run between two counts, which have not, and which are gone.
func difference(before, after map[string]int) string {
	var ran, untouched, removed []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch times := after[name] - before[name]; times {
		case 0:
			untouched = append(untouched, name)
		case 1:
			ran = append(ran, name)
		default:
			ran = append(ran, fmt.Sprintf("%s (%d times)", name, times))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, exists := after[name]; !exists {
			removed = append(removed, name)
		}
	}
	parts := []string{"ran " + list(ran), "untouched " + list(untouched)}
	if len(removed) > 0 {
		parts = append(parts, "removed "+list(removed))
	}
	return strings.Join(parts, "; ")
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// leave is the end of the report: the tree stays, where it is not the last that was said anyway.
func (r *report) leave() {
	r.screen.show(nil)
	if r.screen.live || !r.calm {
		r.tree()
	}
}

// tree prints the tree to stay.
func (r *report) tree() {
	r.screen.say(append(append([]string{""}, table(rows(r.landscape.tree(time.Now())), r.screen.paint)...), "")...)
}
