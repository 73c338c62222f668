// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// shop is the Flux source "shop" of a blueprint. Its artifacts are served by the test, which breaks that.
type shop struct {
	*scene
	url string

	mu       sync.Mutex
	contents map[string][]byte
	broken   http.HandlerFunc
	// refused counts the requests since it broke.
	refused int
}

func (s *scene) open() *shop {
	s.T.Helper()
	shop := &shop{scene: s, contents: map[string][]byte{}}
	server := httptest.NewServer(shop)
	s.T.Cleanup(server.Close)
	shop.url = server.URL
	require.NoError(s.T, s.Client().Create(s.Ctx, &sourcev1.ExternalArtifact{ObjectMeta: s.Named("shop")}))
	return shop
}

// ServeHTTP serves an artifact, unless that is broken.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, broken := s.contents[strings.TrimPrefix(r.URL.Path, "/")], s.broken
	s.refused++
	s.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	_, _ = w.Write(content)
}

// breaks lets a handler answer all requests; nil mends that.
func (s *shop) breaks(with http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.refused = with, 0
}

// awaitTries waits until somebody has asked in vain, and again.
func (s *shop) awaitTries() {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refused > 1
	}, landscape.Patience, landscape.Tick, "nobody tries again")
}

// set changes the status of the source, as its controller does.
func (s *shop) set(artifact *meta.Artifact, ready metav1.Condition) {
	s.T.Helper()
	source := &sourcev1.ExternalArtifact{ObjectMeta: s.Named("shop")}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(source), source))
	ready.Type, ready.LastTransitionTime = meta.ReadyCondition, metav1.Now()
	source.Status.Artifact, source.Status.Conditions = artifact, []metav1.Condition{ready}
	require.NoError(s.T, s.Client().Status().Update(s.Ctx, source))
}

// offer offers the blueprint with a value.
func (s *shop) offer(value string) {
	s.T.Helper()
	packed, err := servers.PackageChart(servers.Files(map[string]string{"Chart.yaml": "name: root", "blueprint.yaml": s.blueprint(value)}))
	require.NoError(s.T, err)
	s.mu.Lock()
	s.contents[value] = packed
	s.mu.Unlock()
	size := int64(len(packed))
	s.set(&meta.Artifact{
		URL: s.url + "/" + value, Path: value, Revision: value, Size: &size, LastUpdateTime: metav1.Now(),
		Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(packed)),
	}, metav1.Condition{Status: metav1.ConditionTrue, Reason: meta.SucceededReason})
}

// awaitDeployed waits until a value arrives. The generation of the root does not tell.
func (s *shop) awaitDeployed(value string) {
	s.T.Helper()
	s.AwaitState("root", func(*v1alpha1.Installation) bool { return s.Config("deployed")["value"] == value })
}

// awaitShown waits until the root says what is wrong with the source.
func (s *shop) awaitShown() {
	s.T.Helper()
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		for _, condition := range inst.Status.Conditions {
			if strings.Contains(condition.Message, "ExternalArtifact") && strings.Contains(condition.Message, "shop") {
				return true
			}
		}
		return false
	})
}

// downloads are what a source that is broken answers.
var downloads = map[string]http.HandlerFunc{
	"closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"disk is full": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "write: no space left on device", http.StatusInsufficientStorage)
	},
	"artifact is gone": http.NotFound,
	"artifact ends early": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<16))
		_, _ = w.Write(make([]byte, 1<<10))
		panic(http.ErrAbortHandler)
	},
}

func TestSourceThatIsBrokenStandsStill(t *testing.T) {
	for name, answer := range downloads {
		t.Run(name, func(t *testing.T) {
			s := newScene(t).open()
			s.Target("cluster")
			s.breaks(answer)
			s.offer("first")
			s.installFrom(object{"sourceRef": object{"kind": "ExternalArtifact", "name": "shop"}, "path": "./root"})
			s.awaitShown()
			s.RequireStandstill()
			s.breaks(nil)
			s.healthy("first")

			s.breaks(answer)
			s.offer("second")
			s.awaitTries()
			s.RequireStandstill()
			s.breaks(nil)
			s.awaitDeployed("second")
			s.healthy("second")
			s.breaks(answer)
			s.Delete(s.Installation("root"))
			s.gone()
		})
	}
}

// TestSourceWithoutStorageStandsStill leaves a source without artifact, as source-controller does whose disk is full.
func TestSourceWithoutStorageStandsStill(t *testing.T) {
	s := newScene(t).open()
	s.Target("cluster")
	full := metav1.Condition{Status: metav1.ConditionFalse, Reason: sourcev1.ArchiveOperationFailedReason, Message: "no space left on device"}
	s.set(nil, full)
	s.installFrom(object{"sourceRef": object{"kind": "ExternalArtifact", "name": "shop"}, "path": "./root"})
	s.awaitShown()
	s.RequireStandstill()
	s.offer("first")
	s.healthy("first")
	s.set(nil, full)
	s.RequireStandstill()
	s.offer("second")
	s.awaitDeployed("second")
	s.healthy("second")
	s.Delete(s.Installation("root"))
	s.gone()
}
