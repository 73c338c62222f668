// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/schema"
)

// limit is a bound of a field that the CRDs of binaries.UpgradedFrom do not have.
type limit struct {
	kind, path string
	// most and beyond are the field with as much as it may have, and with a little more; whole makes the object.
	most, beyond any
	whole        func(any) any
}

// limitsOf collects the new limits below a node, which is at a path; former is that node before, nil if there was none.
func limitsOf(node, former *schema.Node, kind, path string, whole func(any) any) (all []limit) {
	if former == nil {
		former = &schema.Node{}
	}
	if size := node.MaxLength; size > 0 && former.MaxLength == 0 {
		all = append(all, limit{kind, path, text(node, size), text(node, size+4), whole}) // base64 has groups of four
	}
	if size := node.MaxItems; size > 0 && former.MaxItems == 0 {
		items := slices.Repeat(list{smallest(node.Items)}, size+1)
		all = append(all, limit{kind, path, items[1:], items, whole})
	}
	if size := node.MaxProperties; size > 0 && former.MaxProperties == 0 {
		most, beyond := object{}, object{}
		for i := range size {
			most[fmt.Sprint("k", i)] = smallest(node.AdditionalProperties)
		}
		maps.Copy(beyond, most)
		beyond["one-more"] = smallest(node.AdditionalProperties)
		all = append(all, limit{kind, path, most, beyond, whole})
	}
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		if path == "" && slices.Contains([]string{"metadata", "kind", "apiVersion", "status"}, name) {
			continue
		}
		child := node.Properties[name]
		var before *schema.Node
		if found, ok := former.Properties[name]; ok {
			before = &found
		}
		all = append(all, limitsOf(&child, before, kind, path+"."+name, func(v any) any {
			parent := smallest(node).(object)
			parent[name] = v
			return whole(parent)
		})...)
	}
	if node.Items != nil {
		all = append(all, limitsOf(node.Items, former.Items, kind, path+"[0]", func(v any) any { return whole(list{v}) })...)
	}
	if node.AdditionalProperties != nil {
		all = append(all, limitsOf(node.AdditionalProperties, former.AdditionalProperties, kind, path+"[key]", func(v any) any { return whole(object{"key": v}) })...)
	}
	return all
}

// text is one of a size that a field takes.
func text(node *schema.Node, size int) string {
	if node.Format == "byte" {
		return strings.Repeat("A", size)
	}
	long := strings.Repeat("a", size)
	if node.Pattern != "" && !regexp.MustCompile(node.Pattern).MatchString(long) {
		return "http://" + long[7:]
	}
	return long
}

// smallest is a value that a field takes, with what is required and nothing else.
func smallest(node *schema.Node) any {
	switch {
	case len(node.Enum) > 0:
		return node.Enum[0]
	case node.Type == "string" && node.Pattern != "" && !regexp.MustCompile(node.Pattern).MatchString("a"):
		return "5m"
	case node.Type == "string" && node.Format == "date-time":
		return "2026-01-31T12:00:00Z"
	case node.Type == "string":
		return "a"
	case node.Type == "array":
		return list{}
	case node.Type == "integer":
		return int64(1)
	case node.Type == "boolean":
		return true
	}
	value := object{}
	for _, name := range node.Required {
		child := node.Properties[name]
		value[name] = smallest(&child)
	}
	return value
}

// object makes a whole object of a value of the field.
func (l limit) object(name string, value any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: l.whole(value).(object)}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(l.kind))
	u.SetName(name)
	if l.kind == "DataObject" {
		u.Object["data"] = "a" // the former CRDs ask for it
	}
	if l.kind != "Environment" && l.kind != "DeployerRegistration" {
		u.SetNamespace(metav1.NamespaceDefault)
	}
	complete(u.Object, "dataRef", []string{"dataRef", "secretRef", "configMapRef"}, "spec", "imports", "data")
	complete(u.Object, "target", []string{"target", "targets", "targetListRef", "targetMap", "targetMapRef"}, "spec", "imports", "targets")
	return u
}

// complete gives each element of a list what it lacks to have one of some fields.
func complete(of object, field string, oneOf []string, path ...string) {
	elements, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	all, _ := elements.(list)
	for i, element := range all {
		if content, ok := element.(object); ok && !slices.ContainsFunc(oneOf, func(name string) bool { return content[name] != nil }) {
			content = maps.Clone(content)
			content[field] = "a"
			all[i] = content
		}
	}
}

// edits change each kind beside the fields that have limits; the one without has no other field.
var edits = map[string]object{
	"Installation":               {"spec": object{"suspend": true}},
	"Execution":                  {"spec": object{"sensitiveExports": true}},
	"DeployItem":                 {"spec": object{"updateOnChangeOnly": true}},
	"Context":                    {"requireVerifiedSources": true},
	"Target":                     {"spec": object{"healthCheck": object{"interval": "7m"}}},
	"TargetSync":                 {"spec": object{"suspend": true}},
	"Environment":                {"spec": object{"landscaperClusterConfig": object{"insecure": true}}},
	"DeployerRegistration":       {"spec": object{"installationTemplate": object{"importDataMappings": object{"a": "b"}}}},
	"DataObject":                 {"data": "changed"},
	"ComponentVersionOverwrites": {"metadata": object{"annotations": object{"a": "b"}}},
}

// stored is an object that is stored under the former CRDs.
type stored struct {
	limit
	*unstructured.Unstructured
	tooMuch bool
}

func (s stored) String() string {
	return fmt.Sprintf("%s%s, tooMuch=%t", s.kind, s.path, s.tooMuch)
}

// TestT03WhatWasStoredBeforeTheLimitsLives stores, for each limit of the CRDs, an object with as much as it allows and one with more under CRDs without it.
// Under those of this checkout all that keeps an object alive and lets it go is accepted for both, and a new one is refused with more only.
func TestT03WhatWasStoredBeforeTheLimitsLives(t *testing.T) {
	t.Parallel()
	former, err := binaries.CheckOut(t.Context(), binaries.UpgradedFrom)
	if errors.Is(err, binaries.ErrNoPrevious) {
		t.Skipf("NO LIMIT IS TESTED HERE: %v", err)
	}
	require.NoError(t, err)
	before, err := schema.Definitions(former.CRDs())
	require.NoError(t, err)
	crds := filepath.Join("..", "..", "..", "config", "crd", "bases")
	now, err := schema.Definitions(crds)
	require.NoError(t, err)

	cluster := platform.New(t, platform.Options{}).Cluster
	require.NoError(t, cluster.InstallCRDs(t.Context(), former.CRDs()))
	var all []stored
	for _, kind := range slices.Sorted(maps.Keys(now)) {
		node, old := now[kind], before[kind]
		for _, l := range limitsOf(&node, &old, kind, "", func(v any) any { return v }) {
			name := fmt.Sprint("limit-", len(all))
			all = append(all, stored{l, l.object(name+"-beyond", l.beyond), true})
			if _, isText := l.most.(string); isText { // of lists that takes long, and what lives beyond a limit lives within it
				all = append(all, stored{l, l.object(name, l.most), false})
			}
		}
	}
	require.Greater(t, len(all), 100, "limits are found")
	c := cluster.Client()
	inParallel(t, all, func(ctx context.Context, s stored) error { return c.Create(ctx, s.DeepCopy()) })

	require.NoError(t, cluster.InstallCRDs(t.Context(), crds))
	require.Eventually(t, func() bool { return awaited(t.Context(), c, all) }, landscape.Patience, 50*time.Millisecond, "the API server knows the limits")
	inParallel(t, all, func(ctx context.Context, s stored) error { return s.lives(ctx, c) })
}

// inParallel does something for each object, and names those for which it fails.
func inParallel(t *testing.T, all []stored, do func(context.Context, stored) error) {
	t.Helper()
	group, ctx := errgroup.Group{}, t.Context()
	group.SetLimit(2)
	for _, s := range all {
		group.Go(func() error {
			if err := do(ctx, s); err != nil {
				assert.Fail(t, "a limit changes the life of an object", "%s: %.600v", s, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.False(t, t.Failed())
}

// awaited reports whether of each kind a new object with too much is refused.
func awaited(ctx context.Context, c client.Client, all []stored) bool {
	smallest := map[string]stored{}
	for _, s := range all {
		_, known := smallest[s.kind]
		if _, isText := s.beyond.(string); s.tooMuch && (isText || !known) {
			smallest[s.kind] = s
		}
	}
	for _, s := range smallest {
		another := s.DeepCopy()
		another.SetName("another")
		if !apierrors.IsInvalid(c.Create(ctx, another, client.DryRunAll)) {
			return false
		}
	}
	return true
}

// lives leads an object through its life.
func (s stored) lives(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, s.limit.object("most", s.most), client.DryRunAll); err != nil {
		return fmt.Errorf("a new one with as much as the limit allows: %w", err)
	}
	if err := c.Create(ctx, s.limit.object("beyond", s.beyond), client.DryRunAll); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a new one beyond the limit is not refused: %w", err)
	}
	condition := object{"type": "Ready", "status": "True", "reason": "Tested", "message": "", "lastTransitionTime": "2026-01-31T12:00:00Z"}
	steps := []object{
		{"metadata": object{"labels": object{"a": "b"}, "annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}}},
		{"metadata": object{"finalizers": list{v1alpha1.Finalizer}}},
		{"status": object{"conditions": list{condition}}},
		edits[s.kind],
	}
	for _, step := range steps {
		if err := s.patch(ctx, c, step); err != nil {
			return fmt.Errorf("%v: %w", step, err)
		}
	}
	if err := c.Delete(ctx, s.DeepCopy()); err != nil {
		return fmt.Errorf("deletion: %w", err)
	}
	if err := s.patch(ctx, c, object{"metadata": object{"finalizers": nil}}); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(s), s.DeepCopy()); !apierrors.IsNotFound(err) {
		return fmt.Errorf("it is left: %w", err)
	}
	return nil
}

// patch merges a change, and of one of the status all that the kind has of it.
func (s stored) patch(ctx context.Context, c client.Client, change object) error {
	raw, err := json.Marshal(change)
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, raw)
	if change["status"] == nil {
		return c.Patch(ctx, s.DeepCopy(), patch)
	}
	if err := c.Status().Patch(ctx, s.DeepCopy(), patch); err != nil && !apierrors.IsNotFound(err) { // a kind without status
		return err
	}
	return nil
}
