// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Reasons of the condition Drifted and of events.
const (
	reasonFought           = "DriftFought"
	reasonCorrected        = "DriftCorrected"
	reasonCorrectionFailed = "CorrectionFailed"
	reasonUnwatched        = "WatchFailed"
)

const (
	// freeCorrections is how many corrections of an object come at once. Who corrects it again within fightTime is in a fight.
	freeCorrections = 2
	fightTime       = time.Minute
	// minFightPause and maxFightPause bound the pause between corrections in a fight.
	minFightPause = 15 * time.Second
	maxFightPause = 10 * time.Minute
	// maxNamed is how many objects a message names, and how many fields of each; longestPointer how many bytes of a field.
	maxNamed       = 10
	longestPointer = 150
)

// findings is what is known about the drift of an item.
type driftFindings struct {
	drifted map[managedresource.ResourceReference]Drift
	// corrections are the last ones of each object.
	corrections map[managedresource.ResourceReference]correction
	// last names what was corrected last.
	last    string
	trouble driftTrouble
	kind    string
}

// correction is when an object was last corrected, and how often in a row.
type correction struct {
	at      time.Time
	count   int
	manager string
}

// pause is how long to wait with the next correction.
func (c correction) pause() time.Duration {
	if c.count < freeCorrections {
		return 0
	}
	return queue.Doubled(minFightPause, maxFightPause, c.count-freeCorrections)
}

// quiet is when nobody fights any more.
func (c correction) quiet() time.Time { return c.at.Add(max(fightTime, 2*c.pause())) }

func (c correction) isFought(now time.Time) bool {
	return c.count >= freeCorrections && now.Before(c.quiet())
}

// mayCorrect reports whether it is the time to correct an object.
func (f *driftFindings) mayCorrect(ref managedresource.ResourceReference, now time.Time) bool {
	last, found := f.corrections[keyOfObject(ref)]
	return !found || !now.Before(last.at.Add(last.pause())) || !now.Before(last.quiet())
}

func keyOfObject(ref managedresource.ResourceReference) managedresource.ResourceReference {
	ref.UID = ""
	return ref
}

// driftNote is an event to post.
type driftNote struct{ Kind, Reason, Message string }

// add enters what a search has found, and tells what is new.
func (f *driftFindings) add(found []Drift, now time.Time, tell func(driftNote)) {
	var corrected, drifted []Drift
	for _, one := range found {
		key := keyOfObject(one.Resource)
		one.Resource, one.Live = key, nil
		before, was := f.drifted[key]
		switch {
		case one.Corrected:
			delete(f.drifted, key)
			f.noteCorrection(key, one.Manager, now)
			corrected = append(corrected, one)
		case one.IsDrifted():
			if f.drifted == nil {
				f.drifted = map[managedresource.ResourceReference]Drift{}
			}
			f.drifted[key] = one
			if !was || before.Missing != one.Missing || !slices.Equal(before.Fields, one.Fields) {
				drifted = append(drifted, one)
			}
		case one.Err == nil:
			delete(f.drifted, key)
		}
	}
	if len(drifted) > 0 {
		tell(driftNote{corev1.EventTypeWarning, protocol.ReasonDrift, "Not as deployed: " + describe(drifted)})
	}
	if len(corrected) > 0 {
		f.last = describe(corrected)
		tell(driftNote{corev1.EventTypeNormal, reasonCorrected, "Corrected: " + f.last})
	}
}

func (f *driftFindings) noteCorrection(key managedresource.ResourceReference, manager string, now time.Time) {
	last, found := f.corrections[key]
	if found && !now.Before(last.quiet()) {
		last = correction{}
	}
	f.corrections[key] = correction{at: now, count: last.count + 1, manager: cmp.Or(manager, last.manager)}
	for other, c := range f.corrections {
		if other != key && !now.Before(c.quiet()) {
			delete(f.corrections, other)
		}
	}
}

// due returns drifted objects whose correction had to wait and has not to any more.
func (f *driftFindings) due(now time.Time) []managedresource.ResourceReference {
	var due []managedresource.ResourceReference
	for ref := range f.drifted {
		if _, waited := f.corrections[ref]; waited && f.mayCorrect(ref, now) {
			due = append(due, ref)
		}
	}
	return due
}

// next returns when to look again: at the end of a pause or of a fight. Zero is never.
func (f *driftFindings) next(now time.Time, corrects bool) time.Time {
	var next time.Time
	earliest := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for ref, c := range f.corrections {
		if _, waits := f.drifted[ref]; waits && corrects {
			earliest(c.at.Add(c.pause()))
		}
		if c.isFought(now) {
			earliest(c.quiet())
		}
	}
	return next
}

// condition returns what the item is to show; nil for nothing.
func (f *driftFindings) condition(generation int64, now time.Time) *metav1.Condition {
	say := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: v1alpha1.DriftedCondition, Status: status, Reason: reason, Message: protocol.Message(message), ObservedGeneration: generation}
	}
	if fought := f.fought(now); fought != "" {
		return say(metav1.ConditionTrue, reasonFought, fought)
	}
	if len(f.drifted) > 0 {
		all := slices.SortedFunc(maps.Values(f.drifted), func(a, b Drift) int { return cmp.Compare(a.Resource.String(), b.Resource.String()) })
		reason, message := protocol.ReasonDrift, "Not as deployed: "+describe(all)
		if failed := slices.IndexFunc(all, func(d Drift) bool { return d.Err != nil }); failed >= 0 {
			reason, message = reasonCorrectionFailed, message+": "+all[failed].Err.Error()
		}
		return say(metav1.ConditionTrue, reason, message)
	}
	switch {
	case f.trouble == troubleUnreachable:
		return say(metav1.ConditionUnknown, reasonUnwatched, "The objects "+string(f.trouble))
	case f.trouble != noTrouble:
		return say(metav1.ConditionUnknown, reasonUnwatched, fmt.Sprintf("Objects of kind %s %s", f.kind, f.trouble))
	case f.last != "":
		return say(metav1.ConditionFalse, reasonCorrected, "Corrected: "+f.last)
	}
	return nil
}

// fought names the objects that somebody changes again and again; empty when there are none. The text stays the same during a fight.
func (f *driftFindings) fought(now time.Time) string {
	var names []string
	for ref, c := range f.corrections {
		if !c.isFought(now) {
			continue
		}
		name := ref.String()
		if c.manager != "" {
			name += fmt.Sprintf(" (by %q)", c.manager)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "Corrected more and more rarely, because somebody changes it again and again: " + joined(names) +
		"; let only one of the two write the field, or list it in driftDetection.ignore"
}

// describe names objects and fields, without values.
func describe(drifts []Drift) string {
	names := make([]string, 0, len(drifts))
	for _, one := range drifts {
		if one.Missing {
			names = append(names, one.Resource.String()+" is deleted")
			continue
		}
		fields := slices.Clone(one.Fields)
		for i := range fields {
			fields[i] = foreign.Beginning(fields[i], longestPointer)
		}
		names = append(names, one.Resource.String()+" "+joined(fields))
	}
	return joined(names)
}

// joined names the first ones, and says how many more there are.
func joined(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
