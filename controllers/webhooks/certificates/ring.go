// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"slices"
	"strings"
	"time"
)

// Ring holds the generations that are in use, the oldest first.
type Ring []Generation

// Names of a generation's parts in a Secret, around its ID.
const (
	prefix          = "webhook-"
	authoritySuffix = ".ca.crt"
	certSuffix      = ".tls.crt"
	keySuffix       = ".tls.key"
)

// Decode reads a ring from the data of a Secret. It leaves out what it cannot read.
func Decode(data map[string][]byte) Ring {
	var ring Ring
	for name, certificate := range data {
		id, ok := strings.CutSuffix(name, certSuffix)
		if !ok || !strings.HasPrefix(id, prefix) {
			continue
		}
		g, err := parseGeneration(strings.TrimPrefix(id, prefix), data[id+authoritySuffix], certificate, data[id+keySuffix])
		if err == nil {
			ring = append(ring, g)
		}
	}
	slices.SortFunc(ring, func(a, b Generation) int {
		return cmp.Or(a.pair.Leaf.NotBefore.Compare(b.pair.Leaf.NotBefore), cmp.Compare(a.ID, b.ID))
	})
	return ring
}

// Encode returns the data of a Secret.
func (r Ring) Encode() map[string][]byte {
	data := map[string][]byte{}
	for i := range r {
		name := prefix + r[i].ID
		data[name+authoritySuffix], data[name+certSuffix], data[name+keySuffix] = r[i].Authority, r[i].Certificate, r[i].Key
	}
	return data
}

// Authorities returns what clients have to trust, as PEM.
func (r Ring) Authorities() []byte {
	var bundle bytes.Buffer
	for i := range r {
		bundle.Write(r[i].Authority)
	}
	return bundle.Bytes()
}

// Renewed returns the ring with a new generation, and without expired ones, when the newest that covers the hosts has had most of its
// life or none does; otherwise the ring itself and false.
func (r Ring) Renewed(hosts []string, lifetime time.Duration, now time.Time) (Ring, bool, error) {
	covering := r.covering(hosts, now)
	if len(covering) > 0 && now.Before(covering[len(covering)-1].due()) {
		return r, false, nil
	}
	g, err := newGeneration(hosts, lifetime, now)
	if err != nil {
		return r, false, err
	}
	return append(r.alive(now), g), true, nil
}

// Current returns the certificate to serve the hosts with: of the newest generation that every client knows, else of the oldest;
// nil when there is none.
func (r Ring) Current(hosts []string, now time.Time) *tls.Certificate {
	covering := r.covering(hosts, now)
	if len(covering) == 0 {
		return nil
	}
	current := &covering[0]
	for i := range covering {
		if !now.Before(covering[i].settled()) {
			current = &covering[i]
		}
	}
	return &current.pair
}

// Next returns the first moment after now at which Renewed or Current have another answer.
func (r Ring) Next(hosts []string, now time.Time) time.Time {
	covering := r.covering(hosts, now)
	if len(covering) == 0 {
		return now
	}
	next := covering[len(covering)-1].due()
	for i := range covering {
		if settled := covering[i].settled(); settled.After(now) && settled.Before(next) {
			next = settled
		}
	}
	return next
}

func (r Ring) alive(now time.Time) Ring {
	return slices.DeleteFunc(slices.Clone(r), func(g Generation) bool { return !now.Before(g.Expires()) })
}

func (r Ring) covering(hosts []string, now time.Time) Ring {
	return slices.DeleteFunc(r.alive(now), func(g Generation) bool { return !g.covers(hosts) })
}
