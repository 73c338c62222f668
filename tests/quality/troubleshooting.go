// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

const (
	// ReasonsPage lists every reason with its meaning and cure.
	ReasonsPage = "docs/reference/reasons.md"
	// ReasonsFile has the words of that list.
	ReasonsFile = "docs/spec/reasons.yaml"
)

// Explanation is what ReasonsFile says of a reason.
type Explanation struct {
	// Reason is the word.
	Reason string `json:"reason"`
	// Means says what is so, and why.
	Means string `json:"means"`
	// Cure says what a person does; empty where there is nothing to do.
	Cure string `json:"cure,omitempty"`
	// Ended says who or what ends a failure of this reason, where the code does not tell.
	Ended string `json:"ended,omitempty"`
}

// Explanations reads ReasonsFile.
func Explanations(module *Module) ([]Explanation, error) {
	content, err := os.ReadFile(module.Path(ReasonsFile))
	if err != nil {
		return nil, err
	}
	var found []Explanation
	if err := foreign.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", ReasonsFile, err)
	}
	return found, nil
}

// ReasonGaps returns the names of reasons that nothing explains, and of explanations whose reason the code does not have.
func ReasonGaps(reasons []Reason, explanations []Explanation) (unexplained, unused []string) {
	has := map[string]bool{}
	for _, reason := range reasons {
		has[reason.Name] = true
		if !slices.ContainsFunc(explanations, func(e Explanation) bool { return e.Reason == reason.Name }) {
			unexplained = append(unexplained, reason.Name)
		}
	}
	for _, explanation := range explanations {
		if !has[explanation.Reason] {
			unused = append(unused, explanation.Reason)
		}
	}
	return unexplained, unused
}

// seenOn says on which kinds the reasons of a room are seen; the first prefix that fits counts.
var seenOn = []struct{ room, kinds string }{
	{"blueprints", "Installation"},
	{"sources", "Installation, DeployItem"},
	{"controllers/installation", "Installation"},
	{"controllers/execution", "Execution"},
	{"controllers/deployitem", "DeployItem"},
	{"controllers/targetsync", "TargetSync"},
	{"controllers/target", "Target"},
	{"controllers/environment", "Environment, DeployerRegistration"},
	{"controllers/pair", "Environment, DeployerRegistration"},
	{"deployers/target", "DeployItem, Target"},
	{"deployers/protocol", "every kind"},
	{"deployers", "DeployItem"},
	{"agent", "events of the agent"},
}

// kindsOf returns the kinds that show a reason, each once.
func (r Reason) kindsOf() string {
	var kinds []string
	for _, room := range r.Rooms {
		at := slices.IndexFunc(seenOn, func(s struct{ room, kinds string }) bool { return within(room, s.room) })
		if at < 0 {
			continue
		}
		for kind := range strings.SplitSeq(seenOn[at].kinds, ", ") {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if slices.Contains(kinds, "every kind") && len(kinds) > 1 {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "every kind" })
	}
	return strings.Join(kinds, ", ")
}

// endsBy says who ends a failure with the reason.
func (r Reason) endsBy() string {
	var words []string
	for _, end := range r.Ends {
		words = append(words, map[string]string{"Stall": "a person", "Wait": "an event", "Again": "a retry"}[end])
	}
	return strings.Join(words, ", ")
}

// RenderTroubleshooting returns ReasonsPage with a fresh table.
func RenderTroubleshooting(module *Module, reasons []Reason, explanations []Explanation) (string, error) {
	var table strings.Builder
	table.WriteString("| Reason | On | Ended by | Meaning and cause | Cure |\n|---|---|---|---|---|\n")
	for _, reason := range reasons {
		at := slices.IndexFunc(explanations, func(e Explanation) bool { return e.Reason == reason.Name })
		if at < 0 {
			return "", fmt.Errorf("reason %s of %s is not explained: add it to %s", reason.Name, strings.Join(reason.Rooms, ", "), ReasonsFile)
		}
		row := []string{"`" + reason.Name + "`", reason.kindsOf(), cmp.Or(explanations[at].Ended, reason.endsBy()), explanations[at].Means, explanations[at].Cure}
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", "\\|")
		}
		fmt.Fprintf(&table, "| %s |\n", strings.Join(row, " | "))
	}
	content, err := os.ReadFile(module.Path(ReasonsPage))
	return replaceGenerated(ReasonsPage, string(content), table.String(), err)
}
