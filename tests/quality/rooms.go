// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"fmt"
	"slices"
	"strings"
)

// A room is a folder whose packages form one unit. Packages import their own room and rooms of a lower rank, never the rank beside.
type room struct {
	prefix string
	rank   int
}

// rooms in the order of docs/architecture.md. A prefix that ends with /* makes each folder below it a room of its own.
var rooms = []room{
	{"api", 0},
	{"docs/spec", 0},
	{"sources/memory", 9},
	{"sources/component", 10},
	{"blueprints", 11},
	{"sources/egress", 13},
	{"confined", 20},
	{"sources/fetch", 20},
	{"sources/repository", 22},
	{"sources/*", 21},
	{"deployers/target", 21},
	{"deployers/conformance", 21},
	{"publishing", 30},
	{"deployers/protocol", 24},
	{"deployers/queue", 25},
	{"deployers/storage", 25},
	{"deployers/notify", 26},
	{"deployers/contract", 31},
	{"controllers/pair", 31},
	{"deployers/components", 32},
	{"deployers/resources", 32},
	{"deployers/helm/engine", 32},
	{"deployers/helm/charts", 33},
	{"deployers/container/sidecar", 32},
	{"controllers/*", 40},
	{"deployers/*", 40},
	{"agent", 40},
	{"landscape", 45},
	{"cmd/*", 50},
	{"docs/*", 50},
	{"tests", 60},
}

// find returns the room of a package, given by its path below the module: the prefix that names it, and its rank.
func find(path string) (room, bool) {
	for _, r := range rooms {
		parent, each := strings.CutSuffix(r.prefix, "/*")
		switch {
		case !each && (path == r.prefix || strings.HasPrefix(path, r.prefix+"/")):
			return r, true
		case each && strings.HasPrefix(path, parent+"/"):
			child, _, _ := strings.Cut(path[len(parent)+1:], "/")
			return room{parent + "/" + child, r.rank}, true
		}
	}
	return room{}, false
}

// WrongArrow says why package from may not import package to, both given by their paths below the module; "" if it may.
func WrongArrow(from, to string) string {
	importer, known := find(from)
	if !known {
		return fmt.Sprintf("%s is in no room: add it to rooms of tests/quality and to docs/architecture.md", from)
	}
	imported, known := find(to)
	switch {
	case !known:
		return fmt.Sprintf("%s imports %s, which is in no room", from, to)
	case importer.prefix == imported.prefix || imported.rank < importer.rank:
		return ""
	case imported.rank == importer.rank:
		return fmt.Sprintf("%s imports %s beside it: the two talk through the API, or share a package of a lower rank", from, to)
	}
	return fmt.Sprintf("%s imports %s above it: arrows point down only", from, to)
}

// keptIn says which rooms may import a library directly; everything outside tests/ is bound by it.
var keptIn = map[string][]string{
	"helm.sh/helm":           {"deployers/helm/engine"},
	"oras.land/oras-go":      {"sources/oci"},
	"github.com/go-git":      {"sources/git"},
	"os/exec":                {"confined", "cmd/flux-landscaper"}, // the command line opens the browser of whoever runs it
	"github.com/spf13/cobra": {"cmd"},
}

// allowedIn lists, per folder, the only libraries it may import beside Go's own and this module; the longest folder counts.
var allowedIn = map[string][]string{
	"api":                              {"k8s.io/apimachinery", "github.com/fluxcd/pkg/apis"},
	"api/foreign":                      {"go.yaml.in/yaml/v3", "sigs.k8s.io/json", "sigs.k8s.io/yaml"},
	"api/deployers/managedresource":    {"k8s.io/apimachinery", "sigs.k8s.io/json", "github.com/robfig/cron/v3"},
	"api/validation":                   {"k8s.io/apimachinery", "github.com/fluxcd/pkg/apis"},
	"api/deployers":                    {"k8s.io/apimachinery", "sigs.k8s.io/json"},
	"api/deployers/container/v1alpha1": {"k8s.io/apimachinery", "k8s.io/api/core/v1", "sigs.k8s.io/json"},
}

// impure are packages that reach for the world outside; the pure rooms may import none of them directly, and no client indirectly.
var (
	impure       = []string{"os", "os/exec", "os/user", "net", "net/http", "syscall", "plugin", "log", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"}
	clients      = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}
	pureRooms    = []string{"api", "blueprints", "sources/component", "sources/memory"}
	exactImpure  = []string{"os", "net", "log", "syscall", "plugin"}
	freeOfLimits = "tests"
)

// excused are imports that a rule above forbids, with the reason.
var excused = map[[2]string]string{
	{"blueprints/templating", "os"}: "its init empties the copy of the environment that the Spiff library takes",
}

// WrongLibrary says why the package may not import a library, directly or, where indirect is true, through others; "" if it may.
func WrongLibrary(from, library string, indirect bool) string {
	if within(from, freeOfLimits) || excused[[2]string{from, library}] != "" {
		return ""
	}
	if pure(from) {
		if indirect && matches(library, clients) {
			return fmt.Sprintf("%s depends on %s: it has to stay pure", from, library)
		}
		if !indirect && matches(library, impure) {
			return fmt.Sprintf("%s imports %s: it has to stay pure, pass in what it needs", from, library)
		}
	}
	if indirect {
		return ""
	}
	for kept, homes := range keptIn {
		if within(library, kept) && !slices.ContainsFunc(homes, func(home string) bool { return within(from, home) }) {
			return fmt.Sprintf("%s imports %s, which is kept in %v", from, library, homes)
		}
	}
	return notAllowed(from, library)
}

// notAllowed applies allowedIn. Go's own packages have no dot in their first element.
func notAllowed(from, library string) string {
	first, _, _ := strings.Cut(library, "/")
	folder := longest(from)
	if folder == "" || !strings.Contains(first, ".") || matches(library, allowedIn[folder]) {
		return ""
	}
	return fmt.Sprintf("%s imports %s, but %s may import %v only", from, library, folder, allowedIn[folder])
}

// longest returns the longest folder of allowedIn around the package.
func longest(from string) string {
	found := ""
	for folder := range allowedIn {
		if within(from, folder) && len(folder) > len(found) {
			found = folder
		}
	}
	return found
}

func pure(path string) bool {
	return slices.ContainsFunc(pureRooms, func(room string) bool { return within(path, room) })
}

func matches(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || !slices.Contains(exactImpure, prefix) && within(path, prefix)
	})
}

// within reports whether path is the folder or lies below it; a version suffix as in helm.sh/helm/v3 counts as below.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
