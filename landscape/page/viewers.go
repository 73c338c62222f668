// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// Changes are sent to viewers when a landscape has changed. Edges are all of them where one has changed, else absent.
type Changes struct {
	Version int64    `json:"version"`
	Nodes   []Node   `json:"nodes,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Edges   *[]Edge  `json:"edges,omitempty"`
}

// state is one version of the landscape, encoded once for all viewers.
type state struct {
	snapshot *landscape.Snapshot
	Landscape
	// full is the landscape, encoded when the first viewer wants it, and change is what is new since the version before.
	full   func() ([]byte, error)
	change []byte
	// next is closed when there is another version.
	next chan struct{}
}

// viewers share the last state.
type viewers struct {
	mu    sync.Mutex
	state *state
}

func (v *viewers) current() *state {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

// publish makes a snapshot the state, and tells the viewers what has changed.
func (v *viewers) publish(snapshot *landscape.Snapshot, cluster, namespace string, now time.Time) error {
	before := v.current()
	next := &state{snapshot: snapshot, next: make(chan struct{})}
	next.Version, next.Cluster, next.Namespace, next.Withheld = before.Version+1, cluster, namespace, snapshot.Withheld
	next.Nodes, next.Edges = overview(snapshot, now)
	next.full = sync.OnceValues(func() ([]byte, error) { return json.Marshal(&next.Landscape) })
	var err error
	if next.change, err = json.Marshal(changesBetween(&before.Landscape, &next.Landscape)); err != nil {
		return err
	}
	v.mu.Lock()
	v.state = next
	v.mu.Unlock()
	close(before.next)
	return nil
}

// changesBetween compares two versions of a landscape.
func changesBetween(before, after *Landscape) *Changes {
	changes := &Changes{Version: after.Version}
	known := map[string]*Node{}
	for i := range before.Nodes {
		known[before.Nodes[i].Key] = &before.Nodes[i]
	}
	for i := range after.Nodes {
		node := &after.Nodes[i]
		if old := known[node.Key]; old == nil || !reflect.DeepEqual(old, node) {
			changes.Nodes = append(changes.Nodes, *node)
		}
		delete(known, node.Key)
	}
	changes.Removed = slices.Sorted(maps.Keys(known))
	if !reflect.DeepEqual(before.Edges, after.Edges) {
		changes.Edges = &after.Edges
	}
	return changes
}

// Times of a stream of changes.
const (
	// signOfLife is how often a stream says that it is open where nothing changes.
	signOfLife = 15 * time.Second
	// patience is how long a viewer may take for what is sent.
	patience = 30 * time.Second
)

// stream sends the landscape, and from then on its changes, as server-sent events. Who is too slow for each change gets the whole again.
func (v *viewers) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines is one of a test
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	life := time.NewTicker(signOfLife)
	defer life.Stop()
	seen := int64(-1)
	for {
		now := v.current()
		if now.Version > 0 && now.Version != seen {
			event, data := "changes", now.change
			if now.Version != seen+1 || seen <= 0 {
				event = "landscape"
				var err error
				if data, err = now.full(); err != nil {
					return
				}
			}
			if !send("event: %s\ndata: %s\n\n", event, data) {
				return
			}
		}
		seen = now.Version
		select {
		case <-r.Context().Done():
			return
		case <-now.next:
		case <-life.C:
			if !send(": still here\n\n") {
				return
			}
		}
	}
}
