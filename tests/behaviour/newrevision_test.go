// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// TestE08ARevisionThatCannotBeFetchedAtFirst publishes a revision while the storage of its source is broken: the Installation stays what it
// is, writes nothing, and runs the revision once when the storage is back.
func TestE08ARevisionThatCannotBeFetchedAtFirst(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(http.ResponseWriter, []byte){
		"full disk": func(w http.ResponseWriter, _ []byte) {
			http.Error(w, "no space left on device", http.StatusInternalServerError)
		},
		"not there yet": func(w http.ResponseWriter, _ []byte) { http.NotFound(w, nil) },
		"transfer breaks off": func(w http.ResponseWriter, archive []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(archive)))
			_, _ = w.Write(archive[:len(archive)/2])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			var served atomic.Pointer[[]byte]
			var broken atomic.Bool
			var refused atomic.Int64
			next := func(value string) (string, int) { // no two tests have the same, which is fetched only once
				archive := archiveOf(s, configBlueprint("one", value+s.Namespace), tar.Header{Name: "blueprint.yaml", Typeflag: tar.TypeReg})
				served.Store(&archive)
				return fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), len(archive)
			}
			digest, size := next("first")
			source := s.Offer("shared", digest, size, func(w http.ResponseWriter, _ *http.Request) {
				if broken.Load() {
					refused.Add(1)
					trouble(w, *served.Load())
					return
				}
				_, _ = w.Write(*served.Load())
			})
			s.Target("cluster")
			s.apply(leaf{name: "one", annotations: follows(), blueprint: fromSource("ExternalArtifact", "shared", "")}.String())
			s.Ended("one", v1alpha1.PhaseSucceeded)
			s.requireValue("one", "first"+s.Namespace)

			broken.Store(true)
			digest, size = next("second")
			s.Publish(source, "v2", digest, size)
			require.Eventually(t, func() bool { return refused.Load() > 1 }, landscape.Patience, tick, "it is tried again")
			s.RequireStandstill()
			s.RequireJobs(1, "one")

			broken.Store(false)
			s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
				return inst.Status.IsIdle() && len(s.Witness.Jobs(s.Namespace, "one")) == 2
			})
			s.requireValue("one", "second"+s.Namespace)
			s.RequireJobs(2, "one")
		})
	}
}
