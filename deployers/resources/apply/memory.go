// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
)

// defaultMemory is how many objects a Memory holds when nothing else is asked for.
const defaultMemory = 20000

// Memory remembers which write led to which object, so that a repeated job need not send what the API server would answer with
// the same object: defaults that the server fills in make objects differ from their manifests forever. Only hashes are kept,
// about 150 bytes an object. It is safe for concurrent use; losing it costs one write an object and nothing else.
type Memory struct {
	known *lru.Cache
}

type fingerprint struct{ written, result [sha256.Size]byte }

// NewMemory returns a memory of at most size objects; 0 means a default.
func NewMemory(size int) *Memory {
	size = cmp.Or(max(size, 0), defaultMemory)
	return &Memory{known: lru.New(size)}
}

// remember notes that writing next gave result.
func (m *Memory) remember(next, result *unstructured.Unstructured) {
	if m == nil {
		return
	}
	print, ok := fingerprintOf(next, result)
	if ok {
		m.known.Add(result.GetUID(), print)
	}
}

// unchanged reports whether writing next is known to give live again.
func (m *Memory) unchanged(next, live *unstructured.Unstructured) bool {
	if m == nil {
		return false
	}
	known, found := m.known.Get(types.UID(live.GetUID()))
	print, ok := fingerprintOf(next, live)
	return found && ok && known.(fingerprint) == print
}

func fingerprintOf(next, result *unstructured.Unstructured) (fingerprint, bool) {
	_, withStatus := next.Object["status"]
	written, writtenErr := json.Marshal(fields.Comparable(next, withStatus))
	got, gotErr := json.Marshal(fields.Comparable(result, withStatus))
	if writtenErr != nil || gotErr != nil {
		return fingerprint{}, false
	}
	return fingerprint{written: sha256.Sum256(written), result: sha256.Sum256(got)}, true
}
