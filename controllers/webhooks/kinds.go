// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhooks refuses malformed objects when they are written. It serves the admission webhooks, registers them with the API
// server, and keeps their certificates.
//
// A webhook refuses only what can never work: whatever may become right (a missing source, a blueprint with a mistake) is accepted, and
// the status says what is wrong. A refusal is Forbidden, never Invalid: told to force, Flux deletes and recreates what is Invalid.
// It promises nothing to others.
package webhooks

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of object that a webhook validates.
type Kind struct {
	plural, singular string
	rule             rule
	// owned says that only the controller may give an object of the kind an Installation as its owner.
	owned bool
	// ignored returns what a person gives that has no effect; nil for nothing.
	ignored func(object []byte) []string
}

// kinds are those that are validated.
var kinds = []Kind{
	{"installations", "installation", on(installation), true, ignoredByInstallations},
	{"deployitems", "deployitem", on(deployItem), false, nil},
	{"executions", "execution", on(execution), false, nil},
	{"targets", "target", on(target), false, nil},
}

// AllKinds disables every webhook.
const AllKinds = "all"

// Enabled returns the kinds that are left when the named ones are disabled. A name is the plural or singular of a kind, or AllKinds.
func Enabled(disabled []string) ([]Kind, error) {
	enabled := slices.Clone(kinds)
	for _, name := range disabled {
		name = strings.ToLower(strings.TrimSpace(name))
		if name != AllKinds && !slices.ContainsFunc(kinds, func(k Kind) bool { return k.named(name) }) {
			return nil, fmt.Errorf("there is no webhook %q: name installations, deployitems, executions, targets or %s", name, AllKinds)
		}
		enabled = slices.DeleteFunc(enabled, func(k Kind) bool { return name == AllKinds || k.named(name) })
	}
	return enabled, nil
}

func (k *Kind) named(name string) bool { return name == k.plural || name == k.singular }

// webhook is the name of the kind's webhook, which the API server shows with a refusal.
func (k *Kind) webhook() string { return k.plural + ".validation.landscaper.gardener.cloud" }

// path is where the webhook is served.
func (k *Kind) path() string { return "/validate/" + k.plural }
