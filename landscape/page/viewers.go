// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
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

// edition is one snapshot of all that the server may list.
type edition struct {
	number   int64
	snapshot *landscape.Snapshot // nil before the first
	there    []scope             // the kinds and namespaces that have something
	// next is closed when there is another edition.
	next chan struct{}
}

// state is one version of what viewers with the same rights see, encoded once for all of them.
type state struct {
	snapshot *landscape.Snapshot
	Landscape
	// full is the landscape, encoded when the first viewer wants it, and change is what is new since the version after.
	full   func() ([]byte, error)
	change []byte
	after  int64
}

// view is what viewers with the same rights share.
type view struct {
	mu    sync.Mutex
	state *state
	of    int64 // the edition that state was made of
	used  time.Time
}

// viewers share the newest edition, and a view of it where they may list the same.
type viewers struct {
	access             *Access // nil where all see all
	cluster, namespace string

	mu      sync.Mutex
	newest  *edition
	views   map[string]*view // by rights
	version int64            // of the last state of any view
}

// publish makes a snapshot the newest edition.
func (v *viewers) publish(snapshot *landscape.Snapshot) {
	next := &edition{snapshot: snapshot, next: make(chan struct{})}
	seen := map[scope]bool{}
	for _, kind := range landscape.Kinds {
		for _, object := range snapshot.Objects(kind.Name) {
			if what := (scope{kind.Name, object.GetNamespace()}); what.namespace != "" && !seen[what] {
				seen[what] = true
				next.there = append(next.there, what)
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	next.number = v.newest.number + 1
	close(v.newest.next)
	v.newest = next
}

func (v *viewers) current() *edition {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.newest
}

// look returns what a viewer sees of an edition; nil before the first. Where it is not known what the viewer may see, that is an error.
func (v *viewers) look(ctx context.Context, who *viewer, now *edition) (*state, error) {
	if now.snapshot == nil {
		return nil, nil
	}
	if v.access.showsAll() {
		return v.stateOf(v.view(""), now, func() *landscape.Snapshot { return now.snapshot })
	}
	found, err := v.access.rightsOf(ctx, who, now.there)
	if err != nil {
		return nil, err
	}
	return v.stateOf(v.view("may list "+found.key()), now, func() *landscape.Snapshot { return now.snapshot.Only(found.may) })
}

// forgotten is after what time a view goes that nobody has used; a stream uses its own more often.
const forgotten = time.Minute

// view returns the one of some rights.
func (v *viewers) view(key string) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.views[key] == nil {
		maps.DeleteFunc(v.views, func(_ string, old *view) bool { return time.Since(old.used) > forgotten })
		v.views[key] = &view{state: &state{}}
	}
	v.views[key].used = time.Now()
	return v.views[key]
}

// stateOf returns the state of a view, made anew where an edition is newer.
func (v *viewers) stateOf(one *view, now *edition, part func() *landscape.Snapshot) (*state, error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.of >= now.number {
		return one.state, nil
	}
	before, next := one.state, &state{snapshot: part()}
	v.mu.Lock()
	v.version++
	next.Version = v.version
	v.mu.Unlock()
	next.after, next.Cluster, next.Namespace, next.Withheld = before.Version, v.cluster, v.namespace, next.snapshot.Withheld
	next.Nodes, next.Edges = overview(next.snapshot, time.Now())
	next.full = sync.OnceValues(func() ([]byte, error) { return json.Marshal(&next.Landscape) })
	var err error
	if next.change, err = json.Marshal(changesBetween(&before.Landscape, &next.Landscape)); err != nil {
		return nil, err
	}
	one.state, one.of = next, now.number
	return next, nil
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
	// signOfLife is how often a stream says that it is open where nothing changes, and looks whether the viewer may still see the same.
	signOfLife = 15 * time.Second
	// patience is how long a viewer may take for what is sent.
	patience = 30 * time.Second
)

// stream sends the landscape, and from then on its changes, as server-sent events. Who is too slow for each change, or may see something else than
// before, gets the whole again.
func (v *viewers) stream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines is one of a test
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	life := time.NewTicker(signOfLife)
	defer life.Stop()
	seen := int64(0)
	for {
		now := v.current()
		shown, err := v.look(r.Context(), viewerOf(r), now)
		if err != nil && seen == 0 {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		if err != nil {
			return // the page asks again
		}
		if seen == 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers what it passes on would show changes late
		}
		if shown != nil && shown.Version != seen {
			event, data := "changes", shown.change
			if shown.after != seen || seen == 0 {
				event = "landscape"
				if data, err = shown.full(); err != nil {
					return
				}
			}
			if !send("event: %s\ndata: %s\n\n", event, data) {
				return
			}
			seen = shown.Version
		}
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
