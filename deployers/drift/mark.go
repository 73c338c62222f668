// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"hash"
	"hash/fnv"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mark is what is kept of the metadata of an object.
type mark struct {
	// print tells versions of the object apart, as far as they differ in more than the status. It is never 0.
	print uint64
	// version is the generation of the object; of kinds without one the version. status tells sets of fields of the status apart, with their times.
	version, status uint64
	// own tells the sets of fields of the deployer apart.
	own uint64
	// ours and foreign are when the deployer and anybody else last changed more than the status, in Unix seconds as managedFields have it; 0
	// is never.
	ours, foreign int64
}

// markOf reads managedFields: who changes a field enters itself there, and takes the field out of the entry of who had it. Entries of the
// status do not count. An object without managedFields is known by its version.
func markOf(object metav1.Object, managers []string) mark {
	fields, own, status := fnv.New64a(), fnv.New64a(), fnv.New64a()
	m := mark{version: uint64(object.GetGeneration())} // #nosec G115 -- only the bits count
	if m.version == 0 {
		version := fnv.New64a()
		_, _ = version.Write([]byte(object.GetResourceVersion()))
		m.version = version.Sum64()
	}
	entries := object.GetManagedFields()
	if len(entries) == 0 {
		_, _ = fields.Write([]byte(object.GetResourceVersion()))
	}
	for i := range entries {
		entry := &entries[i]
		at := int64(1)
		if entry.Time != nil {
			at = entry.Time.Unix()
		}
		if entry.Subresource == "status" {
			enter(status, entry, at)
			continue
		}
		if slices.Contains(managers, entry.Manager) && entry.Subresource == "" {
			if entry.FieldsV1 != nil {
				_, _ = own.Write(entry.FieldsV1.GetRawBytes())
			}
			m.ours = max(m.ours, at)
		} else {
			m.foreign = max(m.foreign, at)
		}
		enter(fields, entry, at)
	}
	m.print, m.own, m.status = max(fields.Sum64(), 1), own.Sum64(), status.Sum64()
	return m
}

// enter adds an entry to a hash.
func enter(into hash.Hash, entry *metav1.ManagedFieldsEntry, at int64) {
	_, _ = into.Write([]byte(entry.Manager + "\x00" + string(entry.Operation) + "\x00" + entry.Subresource + "\x00"))
	_, _ = into.Write([]byte{byte(at), byte(at >> 8), byte(at >> 16), byte(at >> 24)}) // #nosec G115 -- only the bits count
	if entry.FieldsV1 != nil {
		_, _ = into.Write(entry.FieldsV1.GetRawBytes())
	}
}

// differs reports whether two versions differ in more than the status. Times in managedFields have whole seconds: who writes the same field twice
// in one shows only in the version.
func (m mark) differs(other mark) bool {
	return m.print != other.print || m.version != other.version && m.status == other.status
}
