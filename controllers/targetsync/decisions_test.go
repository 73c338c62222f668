// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestUntilRotation(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		age     time.Duration
		never   bool
		asked   string
		handled string
		left    time.Duration
	}{
		"never rotated":                     {never: true},
		"young":                             {age: day, left: 59 * day},
		"rotated while the clock was wrong": {age: -1000 * day},
		"of 60 days":                        {age: 60 * day},
		"older":                             {age: 70 * day},
		"asked for":                         {age: day, asked: "true"},
		"asked for and answered":            {age: day, asked: "true", handled: "true", left: 59 * day},
		"asked for by another word":         {age: day, asked: "again", handled: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.TargetSyncStatus{LastHandledTokenRotation: tc.handled}
			if !tc.never {
				status.LastTokenRotationTime = &metav1.Time{Time: noon.Add(-tc.age)}
			}
			assert.Equal(t, tc.left, untilRotation(status, tc.asked, noon))
		})
	}
}

func TestPatternOf(t *testing.T) {
	for name, tc := range map[string]struct {
		secrets, shoots string
		matches, not    []string
	}{
		"all":                {secrets: "*", matches: []string{"a", "b.c"}},
		"anywhere in a name": {secrets: "kube", matches: []string{"a.kubeconfig"}, not: []string{"other"}},
		"anchored":           {shoots: "^one$", matches: []string{"one"}, not: []string{"one-more"}},
	} {
		t.Run(name, func(t *testing.T) {
			pattern, err := patternOf(&v1alpha1.TargetSyncSpec{
				SourceNamespace: "n", SecretRef: v1alpha1.LocalSecretReference{Name: "s"},
				SecretNameExpression: tc.secrets, ShootNameExpression: tc.shoots,
			})
			require.NoError(t, err)
			for _, match := range tc.matches {
				assert.True(t, pattern.MatchString(match), match)
			}
			for _, other := range tc.not {
				assert.False(t, pattern.MatchString(other), other)
			}
		})
	}
}

func TestLifeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		expires string
		life    time.Duration
	}{
		"as asked for":   {noon.Add(24 * time.Hour).Format(time.RFC3339), 24 * time.Hour},
		"shorter":        {noon.Add(time.Hour).Format(time.RFC3339), time.Hour},
		"over already":   {noon.Add(-time.Hour).Format(time.RFC3339), 2 * time.Minute},
		"not said":       {"", 24 * time.Hour},
		"not understood": {"tomorrow", 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			answer := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"expirationTimestamp": tc.expires}}}
			assert.Equal(t, tc.life, lifeOf(answer, noon))
		})
	}
}

func TestCopiesAreKnownInOneStateOnly(t *testing.T) {
	var c copies
	sync, one, two := types.NamespacedName{Namespace: "n", Name: "clusters"}, version{"u", "1"}, version{"u", "2"}
	c.note(sync, "a", one, two)
	assert.True(t, c.known(sync, "a", one, two))
	assert.False(t, c.known(sync, "a", two, two), "the original has changed")
	assert.False(t, c.known(sync, "a", one, one), "the copy has changed")
	assert.False(t, c.known(sync, "a", one, version{}), "the copy is gone")
	assert.False(t, c.known(sync, "b", one, two), "it is another one")
	c.note(sync, "b", version{"u1", ""}, two)
	assert.False(t, c.known(sync, "b", version{"u", "1"}, two), "a UID ends where it ends")
	c.keep(sync, map[string]*wanted{})
	assert.False(t, c.known(sync, "a", one, two), "nobody wants it any more")
}

// TestWhatASourceChoosesIsNotRemembered has UIDs and versions that no API server gives.
func TestWhatASourceChoosesIsNotRemembered(t *testing.T) {
	const size, secrets = 1 << 20, 32
	var c copies
	sync, copied := types.NamespacedName{Namespace: "n", Name: "clusters"}, version{"u", "1"}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range secrets {
		c.note(sync, fmt.Sprint(i), version{types.UID(strings.Repeat("u", size/2)), strings.Repeat("1", size/2)}, copied)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(size*secrets/4), "of what the source chose nothing stays")
	assert.True(t, c.known(sync, "0", version{types.UID(strings.Repeat("u", size/2)), strings.Repeat("1", size/2)}, copied))
}

func TestNothingIsRememberedOfATargetSyncThatIsGone(t *testing.T) {
	scheme := k8sruntime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Backoff: kit.NewBackoff(time.Second, time.Minute)}
	gone, other := types.NamespacedName{Namespace: "n", Name: "gone"}, types.NamespacedName{Namespace: "n", Name: "other"}
	for _, sync := range []types.NamespacedName{gone, other} {
		r.copies.note(sync, "a", version{"u", "1"}, version{"v", "2"})
	}

	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: gone})

	require.NoError(t, err)
	assert.NotContains(t, r.copies.equal, gone)
	assert.Contains(t, r.copies.equal, other)
}

func TestOnlyWhatATargetSyncMadeIsMade(t *testing.T) {
	labels := map[string]string{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK}
	assert.True(t, isMade(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: labels}}))
	labels[v1alpha1.DataObjectContextLabel] = "Inst.root"
	assert.False(t, isMade(&v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Labels: labels}}))
	assert.False(t, isMade(&corev1.Secret{}))
}

func TestASourceMayNotFillTheMemory(t *testing.T) {
	s := &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile("")}
	for i := range 40 {
		s.takeSecret(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, Data: map[string][]byte{kubeconfigKey: make([]byte, 1<<20)},
		})
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("empty-", i)}})
	}
	assert.Greater(t, s.bytes, maxBytes)
	assert.Less(t, len(s.wanted), 17)
	assert.Equal(t, 40, s.unusable)
	assert.Len(t, s.unusableNames, maxShown)
}

// TestNamesOfASourceMayNotFillTheMemory has names and the like that no API server lets anybody write.
func TestNamesOfASourceMayNotFillTheMemory(t *testing.T) {
	s, long := &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile("")}, strings.Repeat("x", 1<<20)
	content := map[string][]byte{kubeconfigKey: []byte("k")}
	s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: long}, Data: content})
	s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: long}})
	s.takeShoot(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: long}})
	assert.Zero(t, len(s.wanted)+len(s.unusableNames)) // a failure would print the names
	for i := range 40 {
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("uid", i), UID: types.UID(long)}, Data: content})
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("version", i), ResourceVersion: long}, Data: content})
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("type", i)}, Type: corev1.SecretType(long), Data: content})
	}
	assert.Greater(t, s.bytes, maxBytes)
	assert.Less(t, len(s.wanted), 17)
}

// gardener is a cluster that gives a kubeconfig for each Shoot.
type gardener struct {
	client.Client
	kubeconfig string
}

func (gardener) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "any")
}

func (gardener) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	shoots := list.(*metav1.PartialObjectMetadataList)
	shoots.Items = make([]metav1.PartialObjectMetadata, 100)
	for i := range shoots.Items {
		shoots.Items[i].Name = fmt.Sprint("shoot-", i)
	}
	return nil
}

func (g gardener) SubResource(string) client.SubResourceClient {
	return requests{kubeconfig: g.kubeconfig}
}

type requests struct {
	client.SubResourceClient
	kubeconfig string
}

func (r requests) Create(_ context.Context, _, request client.Object, _ ...client.SubResourceCreateOption) error {
	return unstructured.SetNestedField(request.(*unstructured.Unstructured).Object, r.kubeconfig, "status", "kubeconfig")
}

func TestKubeconfigsOfShootsMayNotFillTheMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		size, failed int
		requeue      time.Duration
	}{
		"as Gardener has them":    {size: 4 << 10, requeue: 12 * time.Hour},
		"together too much":       {size: 1 << 19, requeue: nextShoots},
		"each more than a Secret": {size: 2 << 20, failed: 100},
	} {
		t.Run(name, func(t *testing.T) {
			source := gardener{kubeconfig: base64.StdEncoding.EncodeToString(make([]byte, tc.size))}
			sync := &v1alpha1.TargetSync{Spec: v1alpha1.TargetSyncSpec{SourceNamespace: "n", ShootNameExpression: "*"}}
			s := &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile(""), sync: sync, source: &target.Cluster{Client: source}, now: noon}
			require.NoError(t, (&Reconciler{Client: source}).gatherShoots(t.Context(), s))
			kept, failed := 0, 0
			for _, shoot := range s.wanted {
				if shoot.copy != nil {
					kept += sizeOf(shoot.copy)
				}
				if shoot.failed {
					failed++
				}
			}
			assert.LessOrEqual(t, kept, maxBytes)
			assert.Len(t, s.wanted, 100)
			assert.Len(t, s.problems, tc.failed)
			assert.Equal(t, tc.requeue == nextShoots || tc.failed > 0, failed > 0)
			assert.InDelta(t, tc.requeue, s.requeue, float64(time.Second))
		})
	}
}

// crowded is a cluster that has many objects in one page, whatever its limit, and always one more page.
type crowded struct {
	client.Client
	asked *int
}

func (c crowded) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	*c.asked++
	list.(*corev1.SecretList).Items = make([]corev1.Secret, 10_000)
	list.SetContinue("more")
	return nil
}

func TestPagesOfASourceAreCountedByTheirObjects(t *testing.T) {
	asked := 0
	sync := &v1alpha1.TargetSync{Spec: v1alpha1.TargetSyncSpec{SourceNamespace: "n", SecretNameExpression: "none"}}
	s := &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile("none"), sync: sync, source: &target.Cluster{Client: crowded{asked: &asked}}}
	require.ErrorContains(t, gatherSecrets(t.Context(), s), "too many objects")
	assert.LessOrEqual(t, asked, 3)
}

// shelf is a cluster with Secrets.
type shelf struct {
	client.Client
	secrets []corev1.Secret
}

func (s shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.SecretList).Items = s.secrets
	return nil
}

// TestASourceWhoseListExpiresIsReadAnew has three Secrets, one without a kubeconfig, in pages of one.
func TestASourceWhoseListExpiresIsReadAnew(t *testing.T) {
	secret := func(name, key string) corev1.Secret {
		return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte("x")}}
	}
	api := shelf{secrets: []corev1.Secret{secret("a", kubeconfigKey), secret("b", "other"), secret("c", kubeconfigKey)}}
	gather := func(times int) (*scope, error) {
		sync := &v1alpha1.TargetSync{Spec: v1alpha1.TargetSyncSpec{SourceNamespace: "n", SecretNameExpression: "."}}
		source := &target.Cluster{Client: &faults.Expiry{Client: api, Times: times}}
		s := &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile("."), sync: sync, source: source}
		return s, gatherSecrets(t.Context(), s)
	}
	whole, err := gather(0)
	require.NoError(t, err)
	anew, err := gather(1)
	require.NoError(t, err)
	assert.Equal(t, whole.wanted, anew.wanted)
	assert.Equal(t, whole.bytes, anew.bytes)
	assert.Equal(t, []string{"b"}, anew.unusableNames)
	assert.Equal(t, 1, anew.unusable)

	_, err = gather(-1)
	require.ErrorContains(t, err, "cannot be listed: The provided continue parameter is too old")
}

// TestExpressionsThatCostMuchAreRefused has expressions that take longer for each name the more they repeat.
func TestExpressionsThatCostMuchAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ expression, problem string }{
		"fifty names":        {"^(" + strings.Repeat("cluster-of-team-1|", 50) + "last)$", ""},
		"repeated":           {strings.Repeat("[a-z]{0,1000}", 20), "repeats too much"},
		"longer than needed": {strings.Repeat("x", 3000), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := patternOf(&v1alpha1.TargetSyncSpec{
				SourceNamespace: "n", SecretRef: v1alpha1.LocalSecretReference{Name: "s"}, SecretNameExpression: tc.expression,
			})
			if tc.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.problem)
		})
	}
}

func TestChangesOfOtherObjectsHaveAnotherToken(t *testing.T) {
	token := func(change func(*changes)) string {
		var c changes
		change(&c)
		return c.token()
	}
	target := func(name string) *v1alpha1.Target { return &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	created := token(func(c *changes) { c.create(target("a")) })

	assert.Equal(t, created, token(func(c *changes) { c.create(target("a")) }), "somebody keeps deleting it")
	assert.NotEqual(t, created, token(func(c *changes) { c.create(target("b")) }))
	assert.NotEqual(t, created, token(func(c *changes) { c.update(target("a")) }))
	assert.NotEqual(t, created, token(func(c *changes) { c.create(secret) }))
	assert.Equal(t, token(func(c *changes) { c.create(target("a")); c.delete(target("b")) }),
		token(func(c *changes) { c.delete(target("b")); c.create(target("a")) }), "in any order")
}
