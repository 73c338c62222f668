// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const (
	// large are the Installations of the namespace that is full: half as many again as workers.
	large = 24
	// filled are the bytes of each: etcd takes 1.5 MiB with metadata and status.
	filled = 1300 << 10
	// largeValue is the JSON of a DataObject, which takes twenty times as much when it is decoded.
	largeValue = 1300 << 10
	// entries are those of a ConfigMap, each of a few bytes. API servers take 1 MiB, and note each entry in the managed fields.
	entries = 40_000
	// largeTime is how long all of it may take.
	largeTime = 5 * time.Minute
)

// TestTheLargestObjectsFitTheMemoryLimits has a namespace full of the largest objects that the CRDs and the database accept: blueprints, values that are
// imported, items and charts. All workers have them at the same time. Nobody ends, and another namespace goes on.
func TestTheLargestObjectsFitTheMemoryLimits(t *testing.T) {
	w := newWorld(t)
	full, calm := w.scene("full"), w.scene("calm")
	for _, s := range []*landscape.Scene{full, calm} {
		w.namespace(s.Namespace, nil)
		s.Target("cluster")
	}
	var data, declared list
	for i := range 3 { // four take more than a reconciliation may hold
		name := fmt.Sprint("value-", i)
		full.Put("DataObject", name, object{"data": object{"numbers": numbers()}})
		data = append(data, object{"name": name, "dataRef": name})
		declared = append(declared, object{"name": name, "type": "data", "schema": object{}})
	}
	archive, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: large\nversion: 1.0.0\n", "files/noise": noise(200 << 10),
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata:\n{{ range until 20000 }}  k{{ . }}: x\n{{ end }}",
	}))
	require.NoError(t, err)
	w.run("install")
	peaks := w.watchMemory()

	var all []*unstructured.Unstructured
	for i := range large {
		name := fmt.Sprint("large-", i)
		items := landscape.ConfigItem("config", "{import: cluster}", full.Namespace, name, "PLACE: x") + "- name: chart\n  type: landscaper.gardener.cloud/helm\n" +
			"  target: {import: cluster}\n  config:\n    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n" +
			fmt.Sprintf("    name: %s\n    namespace: %s\n    chart: {archive: {raw: %s}}\n", name+"-chart", full.Namespace, base64.StdEncoding.EncodeToString(archive))
		items = strings.Replace(items, "PLACE: x", fmt.Sprintf("{{ range until %d }}k{{ . }}: x\n          {{ end }}", entries), 1)
		all = append(all, installation(full, name, nil, items, func(spec, files object) {
			spec["imports"].(object)["data"] = data
			files["blueprint.yaml"] = landscape.Blueprint(object{
				"imports":          append(list{object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}}, declared...),
				"deployExecutions": landscape.GoTemplate("deployItems:\n" + items),
			})
			files["filler"] = strings.Repeat("x", filled-len(items))
		}))
	}
	begun := time.Now()
	w.createAll(all)
	w.calm(calm, "while")
	require.Eventually(t, func() bool {
		counts := w.phases(full.Namespace)
		return counts[v1alpha1.PhaseSucceeded]+counts[v1alpha1.PhaseFailed] == large
	}, largeTime, time.Second, "all end: %v", w.phases(full.Namespace))
	t.Logf("after %s: %v", time.Since(begun).Round(time.Second), w.phases(full.Namespace))
	require.Positive(t, w.phases(full.Namespace)[v1alpha1.PhaseSucceeded])
	w.calm(calm, "after")
	w.why(full)
	require.NoError(t, w.Client().DeleteAllOf(w.ctx, &v1alpha1.Installation{}, client.InNamespace(full.Namespace)))
	w.await(full.Namespace, "", 0, largeTime)

	for name, peak := range peaks() {
		t.Logf("%s: %d MiB with its children, of %d MiB", name, peak>>20, w.limits[name]>>20)
		assert.True(t, w.Processes[name].Running(), name)
		assert.Less(t, peak>>20, w.limits[name]>>20, "MiB of %s with its children", name)
	}
}

// why logs what Installations that failed say: on a busy machine a template with so much data may not end in time.
func (w *world) why(s *landscape.Scene) {
	w.t.Helper()
	all := &v1alpha1.InstallationList{}
	require.NoError(w.t, w.Client().List(w.ctx, all, client.InNamespace(s.Namespace)))
	for i := range all.Items {
		if last := all.Items[i].Status.LastError; last != nil {
			w.t.Logf("%s: %.500s", all.Items[i].Name, last.Message)
		}
	}
}

// calm deploys something small and deletes it.
func (w *world) calm(s *landscape.Scene, name string) {
	w.t.Helper()
	begun := time.Now()
	w.createAll([]*unstructured.Unstructured{installation(s, name, nil, landscape.ConfigItem("config", "{import: cluster}", s.Namespace, name, "value: x"))})
	w.await(s.Namespace, v1alpha1.PhaseSucceeded, 1, landscape.Patience)
	s.Delete(s.Installation(name))
	w.await(s.Namespace, "", 0, landscape.Patience)
	w.t.Logf("the other namespace: %s", time.Since(begun).Round(time.Millisecond))
}

// numbers is a list of as many small values as fit.
func numbers() list {
	all := make(list, largeValue/2)
	for i := range all {
		all[i] = i % 10
	}
	return all
}

// noise is a text that cannot be packed well.
func noise(size int) string {
	source, text := rand.New(rand.NewPCG(1, 2)), make([]byte, size)
	for i := range text {
		text[i] = byte(' ' + source.IntN(90))
	}
	return string(text)
}

// watchMemory begins to measure processes with their children, and returns what has them at their largest.
func (w *world) watchMemory() func() map[string]int64 {
	peaks, done := map[string]int64{}, sync.WaitGroup{}
	ctx, cancel := context.WithCancel(w.ctx)
	w.t.Cleanup(cancel)
	done.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			sizes := resident()
			for name, process := range w.Processes {
				peaks[name] = max(peaks[name], sizes[process.PID()])
			}
		}
	})
	return func() map[string]int64 {
		cancel()
		done.Wait()
		return peaks
	}
}

// resident has by process what it and its children have in memory, in bytes.
func resident() map[int]int64 {
	sizes := map[int]int64{}
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, status := range statuses {
		text, err := os.ReadFile(status)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(status)))
		own := int64(field(string(text), "VmRSS:")) << 10
		sizes[pid] += own
		sizes[field(string(text), "PPid:")] += own
	}
	return sizes
}

func field(status, name string) int {
	_, rest, _ := strings.Cut(status, "\n"+name)
	line, _, _ := strings.Cut(rest, "\n")
	number, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(line), " kB"))
	return number
}
