// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// check looks at one rule of the contract.
type check struct {
	name string
	// contract is the rule.
	contract string
	// needs lists the configurations without which the check is skipped.
	needs []string
	run   func(context.Context, *bench) error
}

// checks in the order in which they are reported.
var checks = []check{
	{"pick-up", "A deployer begins a job by one write with lastReconcileTime not before jobIDGenerationTime, and with deployer.identity, .name and .version.",
		[]string{Good}, pickUp},
	{"final-phase", "A job ends in one write: the final phase, and jobIDFinished equal to jobID. No version has one of them only.",
		[]string{Good}, finalPhase},
	{"failure", "A job that cannot succeed ends in phase Failed with lastError and jobIDFinished, in one write; then nothing is written.",
		[]string{Bad}, failure},
	{"observed-generation", "A new generation without a job starts nothing; the next job writes it into observedGeneration.",
		[]string{Good}, observedGeneration},
	{"idle", "Nothing is written on an item without a job, nor on one whose job has ended.",
		[]string{Good}, idle},
	{"once", "A job that has ended is not carried out again, also when something else on the item changes.",
		[]string{Good}, once},
	{"second-job", "Another jobID is another job, also when nothing else has changed.",
		[]string{Good}, secondJob},
	{"exports", "Exports are in a Secret with the key config in the namespace of the item, named in exportRef when the job ends.",
		[]string{Good}, exports},
	{"garbage-status", "Whatever a status holds, the job ends, and other items are carried out.",
		[]string{Good}, garbageStatus},
	{"crash", "A job that a process of the deployer had begun before it died is carried out to its end by the one that comes after it.",
		[]string{Good}, crash},
	{"stale-news", "A result never overwrites what somebody else has written meanwhile, as the end of the job by an interrupt.",
		[]string{Good}, staleNews},
	{"timeout", "A job that takes longer than spec.timeout ends in phase Failed with lastError.",
		[]string{Slow}, timeout},
	{"interrupt", "A job that somebody else has ended, with phase Failed and jobIDFinished, stops; nothing more is written for it.",
		[]string{Slow}, interrupt},
	{"test-reconcile", "The annotation landscaper.gardener.cloud/operation: test-reconcile is removed and gives the item one new job.",
		[]string{Good}, testReconcile},
	{"delete", "An item in deletion stays until it gets a job. That job uninstalls and removes the finalizer.",
		[]string{Good}, deletion},
	{"delete-without-uninstall", "With landscaper.gardener.cloud/delete-without-uninstall: \"true\" the job removes only the finalizer, also when the Target is missing.",
		[]string{Good}, deleteWithoutUninstall},
	{"other-types", "Items of other types belong to other deployers.",
		nil, otherTypes},
}

// succeeded makes an item and lets it succeed.
func (b *bench) succeeded(ctx context.Context, name string) (*subject, *v1alpha1.DeployItem, error) {
	s, err := b.item(ctx, name, Good)
	if err != nil {
		return nil, nil, err
	}
	item, err := s.succeeds(ctx)
	return s, item, err
}

// inOneWrite checks that no version up to the end of a job has half of the end. The phase of the job before stays until the job begins.
func (s *subject) inOneWrite(job string) error {
	versions, _, _, err := s.history.of(s.name)
	if err != nil {
		return err
	}
	begun := false
	for _, item := range versions {
		if item.Status.JobID != job {
			continue
		}
		ended := item.Status.JobIDFinished == job
		begun = begun || !item.Status.Phase.IsFinal()
		if ended && !item.Status.Phase.IsFinal() {
			return fmt.Errorf("a version has jobIDFinished without a final phase: %s", describe(item))
		}
		if begun && !ended && item.Status.Phase.IsFinal() {
			return fmt.Errorf("a version has a final phase without jobIDFinished: %s", describe(item))
		}
	}
	return nil
}
