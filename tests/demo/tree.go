// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// A node is one line of the tree with what is below it. Deployed objects have no status.
type node struct {
	id       key
	title    string
	status   *status
	took     time.Duration
	runs     int
	children []node
}

// tree returns sources → Kustomization → Installations → DeployItems → deployed objects.
func (l *landscape) tree(now time.Time) []node {
	var roots []node
	for _, source := range objectsOf[*sourcev1.GitRepository](l) {
		roots = append(roots, l.node(keyOf(source), statusOfSource(source.Status.Conditions, source.Status.Artifact), now))
	}
	for _, source := range objectsOf[*sourcev1.OCIRepository](l) {
		roots = append(roots, l.node(keyOf(source), statusOfSource(source.Status.Conditions, source.Status.Artifact), now))
	}
	for _, kustomization := range objectsOf[*kustomizev1.Kustomization](l) {
		root := l.node(keyOf(kustomization), statusOfKustomization(l, kustomization), now)
		for _, inst := range l.installationsOf(kustomization) {
			root.children = append(root.children, l.installation(inst, now))
		}
		roots = append(roots, root)
	}
	return roots
}

func (l *landscape) node(id key, s status, now time.Time) node {
	made := node{id: id, title: id.kind + " " + id.name, status: &s}
	if clock := l.clocks[id]; clock != nil {
		made.took, made.runs = clock.took(now), clock.runs
	}
	return made
}

func (l *landscape) installation(inst *v1alpha1.Installation, now time.Time) node {
	made := l.node(keyOf(inst), statusOfInstallation(inst), now)
	for _, child := range l.childrenOf(inst) {
		made.children = append(made.children, l.installation(child, now))
	}
	for _, item := range l.itemsOf(inst) {
		child := l.node(keyOf(item), statusOfItem(item), now)
		child.title = "DeployItem " + item.Labels[v1alpha1.ExecutionManagedNameLabel]
		child.children = deployed(item)
		made.children = append(made.children, child)
	}
	return made
}

// deployed lists what the deployer says it has deployed.
func deployed(item *v1alpha1.DeployItem) []node {
	var nodes []node
	by := deployedBy(item)
	if release := by.Release; release != nil {
		nodes = append(nodes, node{title: fmt.Sprintf("Release %s/%s, revision %d", release.Namespace, release.Name, release.Revision)})
	}
	for _, resource := range by.ManagedResources {
		nodes = append(nodes, node{title: resource.Resource.String()})
	}
	return nodes
}

// deployedBy reads the status of the deployer. That of the helm deployer has all fields that are shown of any.
func deployedBy(item *v1alpha1.DeployItem) helmv1alpha1.ProviderStatus {
	var by helmv1alpha1.ProviderStatus
	if item.Status.ProviderStatus != nil {
		// What is not readable belongs to a deployer that is not known here and shows nothing.
		_ = json.Unmarshal(item.Status.ProviderStatus.Raw, &by)
	}
	return by
}

// A row is one line of the tree as text, in columns.
type row struct {
	id                                            key
	title, mark, phase, runs, took, revision, why string
	state                                         state
}

// rows flattens a tree.
func rows(nodes []node) []row {
	var flat []row
	for _, root := range nodes {
		flat = append(flat, rowOf(root, ""))
		flat = append(flat, rowsBelow(root.children, "")...)
	}
	return flat
}

func rowsBelow(nodes []node, indent string) []row {
	var flat []row
	for i, child := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		flat = append(flat, rowOf(child, indent+branch))
		flat = append(flat, rowsBelow(child.children, indent+below)...)
	}
	return flat
}

func rowOf(n node, indent string) row {
	r := row{id: n.id, title: indent + n.title}
	if n.status == nil {
		return r
	}
	r.state, r.phase, r.revision, r.why = n.status.state, n.status.phase, n.status.revision, oneLine(n.status.message)
	r.mark = []string{busy: "…", done: "✓", failed: "✗"}[n.status.state]
	if n.took > 0 {
		r.took = took(n.took)
	}
	if n.runs > 0 {
		r.runs = fmt.Sprint(n.runs)
	}
	return r
}

var longDigest = regexp.MustCompile(`:([0-9a-f]{8})[0-9a-f]{32,}`)

// oneLine takes the first line of a message, with digests as short as in the column of revisions.
func oneLine(message string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return longDigest.ReplaceAllString(first, ":$1")
}

var heading = row{title: "OBJECT", mark: " ", phase: "PHASE", runs: "RUNS", took: "TOOK", revision: "REVISION"}

// table aligns rows in columns below a heading. Why something is not done stands at the end of its line.
func table(flat []row, paint palette) []string {
	title, phase, revision := width(heading.title), width(heading.phase), width(heading.revision)
	for _, r := range flat {
		title, phase, revision = max(title, width(r.title)), max(phase, width(r.phase)), max(revision, width(r.revision))
	}
	lines := make([]string, 0, len(flat)+1)
	for i, r := range append([]row{heading}, flat...) {
		colour := paint.colour(r.state)
		switch {
		case i == 0:
			colour = paint.dim
		case r.phase == "":
			colour = func(text string) string { return text }
		}
		line := fmt.Sprintf("%s  %s %s  %s  %s  %s  ", paint.in(boldRoot(r, i), pad(r.title, title)), colour(pad(r.mark, 1)),
			colour(pad(r.phase, phase)), right(r.runs, width(heading.runs)), right(r.took, tookWidth), pad(r.revision, revision))
		lines = append(lines, strings.TrimRight(line+r.why, " "))
	}
	return lines
}

const tookWidth = 7

// boldRoot is the code for what a person looks for first.
func boldRoot(r row, index int) string {
	if index == 0 {
		return "2"
	}
	if r.id.kind == "Installation" || r.id.kind == kustomizev1.KustomizationKind {
		return "1"
	}
	return "0"
}

func (p palette) colour(s state) func(string) string {
	return []func(string) string{busy: p.yellow, done: p.green, failed: p.red}[s]
}

func width(text string) int { return utf8.RuneCountInString(text) }

func pad(text string, to int) string { return text + strings.Repeat(" ", max(0, to-width(text))) }

func right(text string, to int) string { return strings.Repeat(" ", max(0, to-width(text))) + text }
