// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// waitingTime is how long items wait for what never comes.
const waitingTime = "10s"

// waiting are items of charts and manifests whose Pods never run, so that each waits until its time is over.
func waiting(h *hostile) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: never-{{ .Release.Name }}\n  annotations: {helm.sh/hook: pre-install}\nspec: {containers: [{name: a, image: a}]}\n"
	h.install(h.many, func(_ int, name string) object {
		manifest := landscape.ConfigItem("manifest", "{import: cluster}", h.Namespace, name, "")
		manifest = strings.Replace(manifest, "kind: ConfigMap", "kind: Pod", 1)
		manifest = strings.Replace(manifest, "        data:\n          \n", "        spec: {containers: [{name: a, image: a}]}\n", 1)
		limit := "  timeout: " + waitingTime + "\n"
		items := manifest + limit + chartItem(name, h.Namespace, map[string]string{"templates/pod.yaml": pod}) + limit
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + items)}
	}, nil)
	h.bites(h.started)
}

// lookups are items of charts that ask their cluster again and again while they are rendered.
func lookups(h *hostile) {
	through, asked := h.through(), &atomic.Int64{}
	h.serve(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps/never") {
			asked.Add(1)
		}
		through.ServeHTTP(w, r)
	})
	files := map[string]string{"templates/x.yaml": `{{ range until 1000000 }}{{ $found := lookup "v1" "ConfigMap" $.Release.Namespace "never" }}{{ end }}`}
	h.install(h.many, func(i int, name string) object {
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + chartItem(name, h.Namespace, files,
			fmt.Sprintf("helmDeployment: %t", i%2 == 0)) + "  timeout: " + waitingTime + "\n")}
	}, object{"imports": object{"targets": []any{object{"name": "cluster", "target": "trap"}}}})
	h.bites(func() bool { return asked.Load() > 10 })
}

// forgedReleases are records of Helm releases that take far more than they weigh, and items of releases of their names.
func forgedReleases(h *hostile) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zipped, `{"name": "release", "version": 1, "info": {"status": "deployed"}, "manifest": "`) // a buffer takes everything
	for range 400 {
		_, _ = io.WriteString(zipped, strings.Repeat("x", 1<<20))
	}
	_, _ = io.WriteString(zipped, `"}`)
	require.NoError(h.T, zipped.Close())
	record := base64.StdEncoding.EncodeToString(packed.Bytes())
	h.each(h.many, func(_ int, name string) error {
		secret := &corev1.Secret{ObjectMeta: h.Named("sh.helm.release.v1." + name + ".v1"), Type: "helm.sh/release.v1", StringData: map[string]string{"release": record}}
		secret.Labels = map[string]string{"owner": "helm", "name": name, "status": "deployed", "version": "1"}
		return h.Client().Create(h.Ctx, secret)
	})
	// What cannot be read is nobody's to uninstall until a person deletes it.
	h.acts.Go(func() {
		<-h.until.Done()
		forged := client.MatchingLabels{"owner": "helm"}
		_ = h.Client().DeleteAllOf(context.WithoutCancel(h.until), &corev1.Secret{}, client.InNamespace(h.Namespace), forged) // else it shows by what is left
	})
	h.install(h.many, func(_ int, name string) object {
		chart := chartItem(name, h.Namespace, map[string]string{"templates/config.yaml": strings.ReplaceAll(configTemplate, "of-chart", "{{ .Release.Name }}")})
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + chart)}
	}, nil)
	h.bites(h.started)
}
