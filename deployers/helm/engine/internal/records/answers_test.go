// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// bulky is the answer of an API server with so many records, which stay as large as they are when they are packed.
func bulky(t *testing.T, count, size int) []byte {
	t.Helper()
	noise := make([]byte, size*3/4)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	text := base64.StdEncoding.EncodeToString(noise)
	list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for i := range count {
		record := packed(t, fmt.Sprintf(`{"info":{"status":"superseded"},"version":%d,"config":{"noise":%q}}`, i, text))
		list.Items = append(list.Items, corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.bulky.v%d", i)}, Data: map[string][]byte{recordKey: record},
		})
	}
	raw, err := json.Marshal(list)
	require.NoError(t, err)
	return raw
}

// inMemory returns the bytes that are in memory.
func inMemory() int64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestListsOfRecordsAreBoundedTogether has twelve namespaces ask for large histories while none can be unpacked: what was received and waits for that is
// bounded for all of them.
func TestListsOfRecordsAreBoundedTogether(t *testing.T) {
	const calls = 12
	answer := bulky(t, 12, 1<<20)
	var asked, answered atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		defer answered.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	room := NewRoom()
	before := inMemory()
	room.turns.unpacking <- struct{}{}
	var all sync.WaitGroup
	var read atomic.Int32
	for i := range calls {
		claim := room.Claim(fmt.Sprintf("tenant-%d", i))
		storage, err := NewChecked(nil, &rest.Config{Host: server.URL}, "default", false, Bound{Context: t.Context(), Claim: claim})
		require.NoError(t, err)
		all.Go(func() {
			defer claim.End()
			for {
				found, err := storage.Query(map[string]string{Owner: ByHelm, "name": "bulky"})
				if err == nil {
					assert.Len(t, found, 12)
					read.Add(1)
					return
				}
				if !assert.ErrorIs(t, err, ErrBusy) {
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return answered.Load() >= calls }, time.Minute, time.Millisecond)
	most := int64(0)
	for range 10 {
		most = max(most, inMemory()-before)
		time.Sleep(50 * time.Millisecond) // what was answered is received and kept in the meantime
	}
	<-room.turns.unpacking
	all.Wait()
	t.Logf("%d calls with answers of %d MiB held %d MiB", calls, len(answer)>>20, most>>20)
	assert.Less(t, most, int64(answersRoom), "an answer counts twice")
	assert.EqualValues(t, calls, read.Load(), "everybody gets the records in the end")
	assert.Zero(t, room.answers.Held())
}

// TestALargeListWithoutItsLengthIsAskedForTwice frees room step by step: a call that knows what it needs waits for all of it.
func TestALargeListWithoutItsLengthIsAskedForTwice(t *testing.T) {
	answer := bulky(t, 12, 1<<20)
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	room := NewRoom()
	other := room.Claim("n").ofAnswers()
	require.True(t, other.fits(answersRoom/2))
	claim := room.Claim("n")
	defer claim.End()
	storage, err := NewChecked(nil, &rest.Config{Host: server.URL}, "default", false, Bound{Context: t.Context(), Claim: claim, Waits: func() {
		go func() {
			for left := other.holds() - roomStep; left >= 0; left -= roomStep {
				other.giveBack(left)
				<-time.After(20 * time.Millisecond) // for whoever is content with one step
			}
		}()
	}})
	require.NoError(t, err)
	found, err := storage.List(func(*release.Release) bool { return true })
	require.NoError(t, err)
	assert.Len(t, found, 12)
	assert.EqualValues(t, 2, requests.Load())
}

// TestALargeListOfAnotherWaitsAndIsReadThen lets a call wait for the room that another one has.
func TestALargeListOfAnotherWaitsAndIsReadThen(t *testing.T) {
	answer := bulky(t, 2, 1<<20)
	for name, length := range map[string]bool{"with its length": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Content-Type", "application/json")
				if length {
					w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
				}
				_, _ = w.Write(answer)
			}))
			t.Cleanup(server.Close)
			room := NewRoom()
			other := room.Claim("n").ofAnswers()
			require.True(t, other.fits(answersRoom/2))
			waits := 0
			claim := room.Claim("n")
			defer claim.End()
			storage, err := NewChecked(nil, &rest.Config{Host: server.URL}, "default", false, Bound{Context: t.Context(), Claim: claim, Waits: func() {
				waits++
				other.End()
			}})
			require.NoError(t, err)
			found, err := storage.List(func(*release.Release) bool { return true })
			require.NoError(t, err)
			assert.Len(t, found, 2)
			assert.Positive(t, waits)
			assert.Greater(t, requests, 1, "who waits holds nothing, so that it is asked for again")
			assert.Zero(t, room.answers.Held())
		})
	}
}
