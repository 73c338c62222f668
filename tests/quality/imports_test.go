// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func loaded(t *testing.T) *Module {
	t.Helper()
	module, err := Load()
	require.NoError(t, err)
	require.Greater(t, len(module.Own()), 10, "go list has found the packages of this module")
	return module
}

func TestEveryPackageLoads(t *testing.T) {
	for _, p := range loaded(t).Own() {
		if p.Error != nil {
			t.Errorf("%s: %s", p.Room(), p.Error.Err)
		}
	}
}

func TestArrowsPointDown(t *testing.T) {
	for _, p := range loaded(t).Own() {
		for _, imported := range p.Imports {
			if to, own := strings.CutPrefix(imported, ModulePath+"/"); own {
				assert.Empty(t, WrongArrow(p.Room(), to))
			}
		}
	}
}

func TestTestsImportDownOrPlatform(t *testing.T) {
	for _, p := range loaded(t).Own() {
		for _, imported := range append(p.TestImports, p.XTestImports...) {
			if to, own := strings.CutPrefix(imported, ModulePath+"/"); own && !within(to, "tests") {
				assert.Empty(t, WrongArrow(p.Room(), to))
			}
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, p := range loaded(t).Own() {
		for _, library := range p.Imports {
			if !strings.HasPrefix(library, ModulePath+"/") {
				assert.Empty(t, WrongLibrary(p.Room(), library, false))
			}
		}
		for _, library := range p.Deps {
			assert.Empty(t, WrongLibrary(p.Room(), library, true))
		}
	}
}

// TestAThirdPartyImportsTheContractWithoutTheRest keeps small what a deployer of others is built from: no loop of ours, no source, no Helm.
func TestAThirdPartyImportsTheContractWithoutTheRest(t *testing.T) {
	module := loaded(t)
	below := []string{"api", "sources/egress", "sources/memory", "sources/pullsecrets", "deployers/protocol", "deployers/queue", "deployers/storage", "deployers/notify", "deployers/target", "deployers/contract"}
	foreign := []string{"helm.sh/helm", "oras.land", "github.com/go-git", "github.com/aws", "github.com/Azure", "cloud.google.com", "github.com/fluxcd/pkg/ssa"}
	for _, room := range []string{"deployers/contract", "deployers/target"} {
		p := module.Packages[ModulePath+"/"+room]
		require.NotNil(t, p, room)
		require.NotEmpty(t, p.Deps, room)
		for _, needed := range p.Deps {
			if own, isOwn := strings.CutPrefix(needed, ModulePath+"/"); isOwn {
				assert.True(t, slices.ContainsFunc(below, func(room string) bool { return within(own, room) }), "%s needs %s", room, own)
			}
			assert.False(t, matches(needed, foreign), "%s needs %s", room, needed)
		}
	}
}

// TestTheAPIDependsOnNoHelmAndNoCloud keeps small what an importer of api gets, also through others.
func TestTheAPIDependsOnNoHelmAndNoCloud(t *testing.T) {
	heavy := []string{"helm.sh/helm", "oras.land", "github.com/go-git", "github.com/aws", "github.com/Azure", "cloud.google.com", "google.golang.org/api",
		"github.com/google/go-containerregistry", "github.com/mandelsoft/spiff", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"}
	packages := 0
	for _, p := range loaded(t).Own() {
		if !within(p.Room(), "api") {
			continue
		}
		packages++
		for _, needed := range p.Deps {
			assert.False(t, matches(needed, heavy), "%s needs %s", p.Room(), needed)
		}
	}
	assert.Greater(t, packages, 10)
}

func TestWrongArrow(t *testing.T) {
	for name, c := range map[string]struct{ from, to, says string }{
		"down":                   {"controllers/installation", "deployers/protocol", ""},
		"inside a room":          {"deployers/helm", "deployers/helm/engine", ""},
		"up":                     {"api/v1alpha1", "deployers/protocol", "above"},
		"loop to loop":           {"controllers/installation", "controllers/execution", "beside"},
		"deployer to deployer":   {"deployers/helm", "deployers/manifest", "beside"},
		"edge to edge":           {"sources/flux", "sources/oci", "beside"},
		"pure to edge":           {"blueprints/render", "sources/fetch", "above"},
		"nobody imports tests":   {"cmd/landscaper", "tests/platform", "above"},
		"main to main":           {"cmd/landscaper", "cmd/flux-landscaper", "beside"},
		"new folder has no room": {"helpers", "api/v1alpha1", "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.says == "" {
				assert.Empty(t, WrongArrow(c.from, c.to))
			} else {
				assert.Contains(t, WrongArrow(c.from, c.to), c.says)
			}
		})
	}
}

func TestWrongLibrary(t *testing.T) {
	for name, c := range map[string]struct {
		from, library string
		indirect      bool
		says          string
	}{
		"helm in its engine":      {"deployers/helm/engine", "helm.sh/helm/v3/pkg/action", false, ""},
		"helm elsewhere":          {"deployers/helm", "helm.sh/helm/v3/pkg/action", false, "kept in"},
		"oras elsewhere":          {"deployers/helm", "oras.land/oras-go/v2", false, "kept in"},
		"a program is run":        {"deployers/helm", "os/exec", false, "kept in"},
		"tests are free":          {"tests/platform", "os/exec", false, ""},
		"pure room reads files":   {"blueprints/model", "os", false, "pure"},
		"pure room with fs":       {"blueprints/model", "io/fs", false, ""},
		"pure room and a client":  {"blueprints/model", "k8s.io/client-go/rest", true, "pure"},
		"api and what it may":     {"api/v1alpha1", "k8s.io/apimachinery/pkg/runtime", false, ""},
		"api and what it may not": {"api/v1alpha1", "github.com/robfig/cron/v3", false, "only"},
		"schedules parse cron":    {"api/deployers/managedresource", "github.com/robfig/cron/v3", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.says == "" {
				assert.Empty(t, WrongLibrary(c.from, c.library, c.indirect))
			} else {
				assert.Contains(t, WrongLibrary(c.from, c.library, c.indirect), c.says)
			}
		})
	}
}
