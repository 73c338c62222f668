// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/docs/spec"
)

// advise adds what the reference says of the last reason in the chain that it knows a cure for.
func (w *Explanation) advise() {
	for _, link := range slices.Backward(w.Chain) {
		reason := link.Status.Reason
		switch {
		case link.Status.Health == Well && link.Status.Drifted:
			reason = protocol.ReasonDrift
		case link.Status.Health == Well:
			return
		case link.Status.Pending && link.Status.Reason == "":
			reason = reasonNotPickedUp
		}
		if words := reasons()[reason]; words.Cure != "" {
			w.Means, w.Cure = words.Means, cmp.Or(w.Cure, words.Cure)
			return
		}
	}
}

// reasonNotPickedUp is what a DeployItem gets that no deployer begins in time.
const reasonNotPickedUp = "PickupTimeout"

// words are what the reference says of a reason.
type words struct {
	Reason string `json:"reason"`
	Means  string `json:"means"`
	Cure   string `json:"cure"`
}

var reasons = sync.OnceValue(func() map[string]words {
	var list []words
	if err := foreign.Unmarshal(spec.Reasons, &list); err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	all := map[string]words{}
	for _, each := range list {
		each.Means, each.Cure = plain(each.Means), plain(each.Cure)
		all[each.Reason] = each
	}
	return all
})

var linkInPage = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain is a text of a page without its links and marks.
func plain(text string) string {
	return strings.ReplaceAll(linkInPage.ReplaceAllString(text, "$1"), "`", "")
}

// Lines says an explanation in lines of at most width characters; 0 is no limit.
func (w *Explanation) Lines(width int, paint Palette, now time.Time) []string {
	var lines []string
	add := func(indent int, text string) {
		before := strings.Repeat(" ", indent)
		if width > 0 {
			text = strings.Join(Wrap(text, width-indent), "\n")
		}
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, strings.TrimRight(before+line, " "))
		}
	}
	indent := 0
	for _, link := range w.Chain {
		status := &link.Status
		head := strings.TrimSpace(fmt.Sprintf("%s %s  %s", status.Mark(), paint.Bold(link.ID.String()), status.Word()))
		if status.Reason != "" && status.Reason != status.Word() && status.Health != Well {
			head += ", " + status.Reason
		}
		if status.Since != nil && !status.Since.IsZero() {
			head += fmt.Sprintf(", since %s (%s)", status.Since.UTC().Format(time.RFC3339), ShowAge(status.Since.Time, now))
		}
		add(indent, head)
		if message := Short(strings.TrimRight(status.Message, "\n")); message != "" && (link.Leads == "" || indent == 0) {
			add(indent+4, message)
		}
		for _, note := range link.Notes {
			add(indent+4, note)
		}
		if link.Leads != "" {
			indent += 2
			add(indent, link.Leads)
		}
	}
	section := func(title, text string) {
		if text != "" {
			add(0, paint.Bold(title)+" "+text)
		}
	}
	lines = append(lines, "")
	section("Means:", w.Means)
	section("To do:", w.Cure)
	for i, where := range slices.DeleteFunc(append([]string{w.Git}, w.Sources...), func(where string) bool { return where == "" }) {
		if i == 0 {
			section("Where:", Short(where))
			continue
		}
		add(len("Where: "), Short(where))
	}
	section("Held up:", strings.Join(w.HeldUp, ", "))
	section("Started by:", w.Trigger)
	for i, leg := range w.Path {
		if i == 0 {
			lines = append(lines, paint.Bold("Last job, by who ended last:"))
		}
		add(2, fmt.Sprintf("%s  %s  %s", leg.Began.UTC().Format("15:04:05Z"), fmt.Sprintf("%7s", fmt.Sprintf("%.0fs", leg.Took.Seconds())), leg.ID))
	}
	return slices.Compact(lines)
}
