// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// BenchmarkLeaf renders what one small Installation needs: load, satisfy, one deploy item.
func BenchmarkLeaf(b *testing.B) {
	files := fstest.MapFS{model.FileName: {Data: []byte(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, targetType: kubernetes-cluster}
- {name: port, schema: {type: integer}}
deployExecutions:
- name: x
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config: {apiVersion: v1, kind: X, port: {{ .imports.port }}, values: {{ toJson .imports.cluster.metadata }}}
`)}}
	validator := schema.New(schema.Options{})
	b.ReportAllocs()
	for b.Loop() {
		blueprint, err := model.Load(files)
		if err != nil {
			b.Fatal(err)
		}
		env := &Environment{Blueprint: blueprint, Files: files, Schemas: validator}
		values, err := Satisfy(context.Background(), env, given(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := DeployItems(context.Background(), env, values, nil); err != nil {
			b.Fatal(err)
		}
	}
}
