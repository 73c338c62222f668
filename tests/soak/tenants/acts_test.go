// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// Sizes of a hostile tenant: how many objects most acts take, where an act is alone and where all are at once.
const (
	many = 20
	some = 6
)

// act is something that a hostile tenant does. begin returns once it tells.
type act struct {
	name  string
	begin func(h *hostile)
}

var acts = []act{
	{"installations that own themselves", ownThemselves},
	{"durations that nobody can read", unreadable},
	{"target that never answers", silentTarget},
	{"target that accepts connections and says nothing", mutedTarget},
	{"target that drips", drippingTarget},
	{"target with endless answers", endlessTarget},
	{"target that redirects", redirectingTarget},
	{"target with changes without end", changingTarget},
	{"GoTemplates without end", templates("GoTemplate", goTemplateBombs)},
	{"Spiff documents without end", templates("Spiff", spiffBombs)},
	{"schemas without end", schemas},
	{"charts without end", charts},
	{"registry that drips", drippingRegistry},
	{"large inputs in messages", largeInputs},
	{"blueprints as large as they may be", largeBlueprints},
	{"hundreds of jobs at once", flood},
	{"edits without pause", edits},
	{"items without pause", continuous},
	{"sub-installations of sub-installations", nested},
	{"events for one object without pause", requests},
	{"items that wait for what never comes", waiting},
	{"charts that look up without end", lookups},
	{"records of releases that unpack to more than there is", forgedReleases},
}

// slowActs bite late where others are busy: all at once nobody waits for that.
var slowActs = []act{
	{"source of clusters that never answers", syncs(silent)},
	{"source of clusters with endless answers", syncs(endless)},
	{"source of clusters that are thousands and change without pause", manyClusters},
	{"checked targets that never answer", checkedTargets(silent)},
	{"checked targets with endless answers", checkedTargets(endless)},
	{"target with lists without end", endlessLists},
	{"targets with kinds by the ten thousand", crowdedKinds},
	{"artifacts that drip", artifacts(drip)},
	{"archives that unpack to more than there is", archives},
	{"health checks that cost much", healthChecks},
	{"exports that multiply", multiply},
	{"imports by the thousand", thousands},
}

func ownThemselves(h *hostile) {
	h.install(h.many, empty, nil)
	h.each(h.many, func(_ int, name string) error {
		inst := h.Installation(name)
		if err := h.Client().Get(h.Ctx, client.ObjectKeyFromObject(inst), inst); err != nil {
			return err
		}
		patch, err := json.Marshal(object{"metadata": object{
			"labels":      object{v1alpha1.EncompassedByLabel: name},
			"annotations": object{v1alpha1.JobAnnotation: "forged"},
			"ownerReferences": []any{object{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Installation", "name": name, "uid": inst.UID, "controller": true,
			}},
		}})
		if err != nil {
			return err
		}
		return h.Client().Patch(h.Ctx, inst, client.RawPatch("application/merge-patch+json", patch))
	})
}

func empty(int, string) object { return object{} }

func unreadable(h *hostile) {
	const never = "9999999999999999h"
	h.install(h.many, empty, object{"automaticReconcile": object{"succeededReconcile": object{"interval": never}}})
	h.each(h.many, func(_ int, name string) error {
		item := &v1alpha1.DeployItem{ObjectMeta: h.Named(name)}
		content := fmt.Sprintf(`{"spec": {"type": "landscaper.gardener.cloud/kubernetes-manifest", "config": {}, "timeout": %q}}`, never)
		return h.Client().Patch(h.Ctx, item, client.RawPatch("application/apply-patch+yaml", []byte(manifestOf("DeployItem", name, content))),
			client.FieldOwner("hostile"), client.ForceOwnership)
	})
}

// manifestOf adds what server-side apply needs to the content of an object of our API.
func manifestOf(kind, name, content string) string {
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}, %s`, v1alpha1.GroupVersion, kind, name, content[1:])
}

// trapped are jobs with items of two deployers for the Target "trap", that never time out.
func (h *hostile) trapped(told func() bool) {
	h.T.Helper()
	items := landscape.ConfigItem("manifest", "{import: cluster}", h.Namespace, "hostile", "value: x") + "  timeout: none\n" +
		chartItem("chart", h.Namespace, map[string]string{"templates/config.yaml": strings.ReplaceAll(configTemplate, "of-chart", "{{ .Release.Name }}")})
	h.install(h.many, func(int, string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + items)}
	},
		object{"imports": object{"targets": []any{object{"name": "cluster", "target": "trap"}}}})
	h.bites(told)
}

func silentTarget(h *hostile) {
	requests := h.serve(func(w http.ResponseWriter, r *http.Request) { silent(h, w, r) })
	h.trapped(func() bool { return requests.Load() > 0 })
}

func mutedTarget(h *hostile) {
	accepted := h.listen()
	h.trapped(func() bool { return accepted.Load() > 0 })
}

func drippingTarget(h *hostile) {
	requests := h.serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		drip(h, w, r)
	})
	h.trapped(func() bool { return requests.Load() > 0 })
}

func endlessTarget(h *hostile) {
	requests := h.serve(func(w http.ResponseWriter, r *http.Request) { endless(h, w, r) })
	h.trapped(func() bool { return requests.Load() > 0 })
}

func redirectingTarget(h *hostile) {
	requests := h.serve(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/"+strings.Repeat("x", int(time.Now().UnixNano()%100)), http.StatusFound)
	})
	h.trapped(func() bool { return requests.Load() > 0 })
}

// changingTarget is the own cluster, where jobs succeed, behind a server that says of whatever is watched that it changes all the time.
func changingTarget(h *hostile) {
	through := h.through()
	change := `{"type": "MODIFIED", "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"namespace": "n", "name": "o",
		"resourceVersion": "1000000000"}}}`
	changes, watches := []byte(strings.Repeat(change+"\n", 100)), atomic.Int64{}
	h.serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			through.ServeHTTP(w, r)
			return
		}
		watches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		for h.until.Err() == nil {
			if _, err := w.Write(changes); err != nil {
				return
			}
		}
	})
	var items strings.Builder
	for i := range 4 {
		items.WriteString(landscape.ConfigItem(fmt.Sprint("item-", i), "{import: cluster}", h.Namespace, fmt.Sprint("changing-", i), "value: x"))
	}
	h.install(1, func(int, string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + items.String())}
	},
		object{"imports": object{"targets": []any{object{"name": "cluster", "target": "trap"}}}})
	h.bites(func() bool { return watches.Load() > 0 })
}

var goTemplateBombs = []string{
	`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
	`{{ range until 200000000 }}{{ end }}`,
	`{{ range untilStep 0 2000000000 1 }}x{{ end }}`,
	`{{ repeat 2000000000 "x" }}`,
	`{{ $s := "x" }}{{ range until 64 }}{{ $s = printf "%s%s" $s $s }}{{ end }}{{ $s }}`,
	`{{ $l := list 1 }}{{ range until 64 }}{{ $l = concat $l $l }}{{ end }}`,
	`{{ range until 100000 }}{{ $k := genPrivateKey "rsa" }}{{ end }}`,
	`{{ range until 100000 }}{{ $k := htpasswd "a" "b" }}{{ end }}`,
	`{{ printf "%2000000000d" 1 }}`,
	`{{ $d := dict }}{{ range $i, $_ := until 100000000 }}{{ $_ := set $d (toString $i) $i }}{{ end }}`,
}

var spiffBombs = []string{
	"deployItems: (( [1..400000000] ))",
	"f: (( |x|->_.f(x) + _.f(x) ))\ndeployItems: (( .f(1) ))",
	"deployItems: (( sum[[1..100000]|0|s,x|-> sum[[1..100000]|s|t,y|-> t + y]] ))",
	"deployItems: (( map[[1..100000]|x|-> map[[1..100000]|y|-> x * y]] ))",
	"deployItems: (( join(\",\", [1..100000000]) ))",
	"deployItems: (( sum[[1..1000]|0|s,x|-> bcrypt(\"a\", 20)] ))",
}

// templates are jobs whose deploy items some templates make.
func templates(language string, bombs []string) func(h *hostile) {
	return func(h *hostile) {
		h.install(h.many, func(i int, _ string) object {
			return object{"deployExecutions": []any{object{"name": "default", "type": language, "template": bombs[i%len(bombs)]}}}
		}, nil)
		h.bites(h.started)
	}
}

// schemas have imports whose content is checked against a schema that costs much more than it weighs.
func schemas(h *hostile) {
	definitions := object{"d0": object{"type": "object"}}
	for i := 1; i < 30; i++ {
		before := object{"$ref": fmt.Sprintf("#/definitions/d%d", i-1)}
		definitions[fmt.Sprintf("d%d", i)] = object{"allOf": []any{before, before, before}, "not": object{"not": before}}
	}
	h.Put("DataObject", "word", object{"data": object{"a": strings.Repeat("a", 1<<16)}})
	parts := object{"imports": object{
		"targets": []any{object{"name": "cluster", "target": "cluster"}}, "data": []any{object{"name": "word", "dataRef": "word"}},
	}}
	h.each(h.many, func(_ int, name string) error {
		return h.createWith(name, object{"name": "word", "type": "data", "schema": object{"definitions": definitions, "$ref": "#/definitions/d29"}}, parts)
	})
	h.bites(h.started)
}

// createWith creates an Installation whose blueprint declares one data import.
func (h *hostile) createWith(name string, declared, parts object) error {
	text := landscape.Blueprint(object{"imports": []any{
		object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}, declared,
	}})
	with := object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": text}}}}
	for key, value := range parts {
		with[key] = value
	}
	return h.create(name, object{}, with)
}

var chartBombs = []map[string]string{
	{"templates/x.yaml": `{{ range until 2000000000 }}{{ end }}`},
	{"templates/x.yaml": `{{ tpl .Values.loop . }}`, "values.yaml": "loop: '{{ tpl .Values.loop . }}'\n"},
	{"templates/x.yaml": `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`},
	{"templates/x.yaml": `{{ $s := "x" }}{{ range until 64 }}{{ $s = printf "%s%s" $s $s }}{{ end }}`},
	{"templates/x.yaml": `{{ range until 100000 }}{{ $k := genPrivateKey "rsa" }}{{ end }}`},
	{"templates/x.yaml": `{{ range until 100000000 }}apiVersion: v1{{ end }}`},
}

// charts are items of charts that never end or take all memory while they are rendered.
func charts(h *hostile) {
	h.install(h.many, func(i int, _ string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + chartItem("chart", h.Namespace, chartBombs[i%len(chartBombs)],
			fmt.Sprintf("helmDeployment: %t", i%2 == 0)))}
	}, nil)
	h.bites(h.started)
}

// drippingRegistry serves blueprints so slowly that a job would take days.
func drippingRegistry(h *hostile) {
	requests := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		drip(h, w, r)
	}))
	h.T.Cleanup(func() { h.stop(); server.CloseClientConnections(); server.Close() })
	h.each(h.many, func(_ int, name string) error {
		return h.create(name, object{}, object{
			"blueprint": object{"ref": object{"resourceName": "blueprint"}},
			"componentDescriptor": object{"ref": object{
				"repositoryContext": object{"type": "ociRegistry", "baseUrl": server.URL + "/" + name}, "componentName": "example.com/" + name, "version": "1.0.0",
			}},
		})
	})
	h.bites(func() bool { return requests.Load() > 0 })
}

// largeInputs fail with messages in which much would have to be masked.
func largeInputs(h *hostile) {
	line := strings.Repeat("secret", 100)
	h.Put("DataObject", "word", object{"data": object{"lines": strings.Repeat(line+"\n", 1400), "numbers": strings.Repeat("1234567 ", 1<<14)}})
	parts := object{"imports": object{
		"targets": []any{object{"name": "cluster", "target": "cluster"}}, "data": []any{object{"name": "word", "dataRef": "word"}},
	}}
	h.install(h.many, func(int, string) object {
		return object{"deployExecutions": landscape.GoTemplate(`{{ fail (toString .imports.word) }}`)}
	}, parts)
	h.bites(h.started)
}

// largeBlueprints are jobs with a blueprint of nearly 32 MiB each, all different.
func largeBlueprints(h *hostile) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(largeArtifact(h, r.URL.Path)) }))
	h.T.Cleanup(server.Close)
	h.each(h.many, func(_ int, name string) error {
		return h.create(name, object{}, object{
			"blueprint": object{"ref": object{"resourceName": "blueprint"}},
			"componentDescriptor": object{"inline": object{"meta": object{"schemaVersion": "v2"}, "component": object{
				"name": "example.com/" + name, "version": "1.0.0", "provider": "hostile",
				"repositoryContexts": []any{}, "sources": []any{}, "componentReferences": []any{},
				"resources": []any{object{
					"name": "blueprint", "version": "1.0.0", "type": "blueprint", "relation": "external",
					"access": object{"type": "wget", "url": server.URL + "/" + name, "mediaType": "application/x-tar+gzip"},
				}},
			}}},
			"exports": object{"data": []any{object{"name": "answer", "dataRef": name}}},
		})
	})
	h.bites(h.started)
}

// largeArtifact is a blueprint with a large file, small where it is packed.
func largeArtifact(h *hostile, name string) []byte {
	text := landscape.Blueprint(object{
		"imports":          []any{object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"exports":          []any{object{"name": "answer", "type": "data", "schema": object{}}},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("mock", fmt.Sprintf("export: {answer: %q}", name))),
		"exportExecutions": landscape.GoTemplate(`exports: {answer: {{ index .values.deployitems "mock" "answer" }}}`),
	})
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, content := range map[string][]byte{"blueprint.yaml": []byte(text), "data": make([]byte, 30<<20)} {
		_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}) // a buffer takes everything
		_, _ = archive.Write(content)
	}
	_, _ = archive.Close(), zipped.Close()
	return out.Bytes()
}

// flood asks for many jobs at once, each with an item, and again.
func flood(h *hostile) {
	h.install(15*h.many, func(_ int, name string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("mock", "export: {answer: "+name+"}"))}
	}, nil)
}

// edits changes Installations again and again while their jobs run.
func edits(h *hostile) {
	work := func(i int) func(int, string) object {
		return func(_ int, name string) object {
			return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" +
				landscape.ConfigItem("manifest", "{import: cluster}", h.Namespace, name, fmt.Sprintf("value: v%d", i)))}
		}
	}
	h.install(h.many, work(0), nil)
	h.meanwhile(func(i int) {
		inst := h.Installation(fmt.Sprintf("hostile-%d", i%h.many))
		text := landscape.Blueprint(work(i)(i, inst.Name))
		patch, err := json.Marshal(object{
			"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}},
			"spec":     object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": text}}}},
		})
		require.NoError(h.T, err)
		_ = h.Client().Patch(h.until, inst, client.RawPatch("application/merge-patch+json", patch)) // the act goes on whatever is answered
	})
	h.bites(h.started)
}

// continuous are items that are to be carried out again every second.
func continuous(h *hostile) {
	var items strings.Builder
	for i := range h.many / 2 {
		items.WriteString(landscape.ConfigItem(fmt.Sprintf("item-%d", i), "{import: cluster}", h.Namespace, fmt.Sprintf("config-%d", i), "value: x"))
		items.WriteString("    continuousReconcile: {every: 1s}\n")
	}
	h.install(h.many, func(_ int, name string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + strings.ReplaceAll(items.String(), "config-", name+"-"))}
	}, nil)
	h.bites(h.started)
}

// nested is an Installation that asks for five, which ask for five each, and these again.
func nested(h *hostile) {
	sub := object{}
	for range 3 {
		var templates []any
		for i := range 5 {
			templates = append(templates, object{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "InstallationTemplate", "name": fmt.Sprintf("sub-%d", i),
				"blueprint": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(sub)}},
			})
		}
		sub = object{"subinstallations": templates}
	}
	h.install(1, func(int, string) object { return sub }, nil)
	h.bites(h.started)
}

// requests touches one Installation as fast as the API server lets it.
func requests(h *hostile) {
	h.install(1, func(int, string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("mock", "phase: Progressing"))}
	}, nil)
	h.meanwhile(func(i int) {
		patch := fmt.Sprintf(`{"metadata": {"annotations": {"touched": "%d", "reconcile.fluxcd.io/requestedAt": "%d"}}}`, i, i)
		_ = h.Client().Patch(h.until, h.Installation("hostile-0"), client.RawPatch("application/merge-patch+json", []byte(patch)))
	})
	h.bites(h.started)
}
