// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// Users that are not programs of ours.
const (
	writerUser   = "harness-writer" // creates, changes and deletes Installations
	observerUser = "harness-observer"
	targetUser   = "target" // what deployers are on the target cluster
	floorUser    = "floor"  // writes the floor
)

// requestCount is how many requests of one kind a user sent.
type requestCount struct {
	User        string `json:"user"`
	Verb        string `json:"verb"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Code        int    `json:"code"`
	Count       int    `json:"count"`
}

// tally sums up what one user sent.
type tally struct {
	Writes    int `json:"writes"`
	Reads     int `json:"reads"`
	Watches   int `json:"watches"`
	Conflicts int `json:"conflicts"`
	Errors    int `json:"errors"` // other answers of 400 and above, except 404 to reads
}

func (t *tally) add(r platform.Request) {
	switch {
	case r.Writes():
		t.Writes++
	case r.Verb == "watch":
		t.Watches++
	default:
		t.Reads++
	}
	switch {
	case r.Code == http.StatusConflict:
		t.Conflicts++
	case r.Code >= http.StatusBadRequest && (r.Writes() || r.Code != http.StatusNotFound):
		t.Errors++
	}
}

// ours are the programs that the benchmark runs, and so the users that count as central load.
var ours = []string{rig.Controller, rig.ManifestDeployer}

// within returns the requests received before the end.
func within(requests []platform.Request, end time.Time) []platform.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r platform.Request) bool { return !r.Time.Before(end) })
}

func tallies(requests []platform.Request) map[string]*tally {
	users := map[string]*tally{}
	for _, request := range requests {
		if users[request.User] == nil {
			users[request.User] = &tally{}
		}
		users[request.User].add(request)
	}
	return users
}

// counts groups requests, the most frequent of each user first.
func counts(requests []platform.Request) []requestCount {
	groups := map[requestCount]int{}
	for _, r := range requests {
		groups[requestCount{User: r.User, Verb: r.Verb, Resource: r.Resource, Subresource: r.Subresource, Code: r.Code}]++
	}
	var list []requestCount
	for group, count := range groups {
		group.Count = count
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b requestCount) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Code, b.Code))
	})
	return list
}
