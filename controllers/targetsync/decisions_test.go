// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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
	assert.Zero(t, len(s.wanted)+len(s.unusableNames)) // a failure would print the names
	for i := range 40 {
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("uid", i), UID: types.UID(long)}, Data: content})
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("version", i), ResourceVersion: long}, Data: content})
		s.takeSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("type", i)}, Type: corev1.SecretType(long), Data: content})
	}
	assert.Greater(t, s.bytes, maxBytes)
	assert.Less(t, len(s.wanted), 17)
}

// gardener answers requests for kubeconfigs.
type gardener struct {
	client.Client
	kubeconfig string
}

func (gardener) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "any")
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

func TestKubeconfigsOfShoots(t *testing.T) {
	for name, tc := range map[string]struct {
		size    int
		renewed bool
	}{
		"as Gardener has them": {4 << 10, true},
		"more than a Secret":   {2 << 20, false},
		"none":                 {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			source := gardener{kubeconfig: base64.StdEncoding.EncodeToString(make([]byte, tc.size))}
			s := &scope{sync: &v1alpha1.TargetSync{}, source: &target.Cluster{Client: source}, now: noon}
			renewed, err := (&Reconciler{Client: source}).renewShoot(t.Context(), s, "shoot", &wanted{})
			require.NoError(t, err)
			assert.Equal(t, tc.renewed, renewed)
			assert.Equal(t, !tc.renewed, len(s.problems) == 1)
			if renewed {
				assert.InDelta(t, 12*time.Hour, s.requeue, float64(time.Second))
			}
		})
	}
}

func TestACopyIsReadAgainOnlyWhereSomethingChanged(t *testing.T) {
	read := 0
	api := fake.NewClientBuilder().WithScheme(schemeOf(t)).Build()
	live := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			read++
			return c.Get(ctx, key, object, options...)
		},
	})
	r, s := &Reconciler{Client: api, Live: live, metadata: api}, &scope{sync: &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "sync"}}}
	r.copies, _ = lru.New[types.NamespacedName, string](4)
	write := func(uid types.UID, version, content string) {
		t.Helper()
		original := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}, Data: map[string][]byte{kubeconfigKey: []byte(content)}}
		require.NoError(t, r.writeSecret(t.Context(), s, "one", original))
	}
	present := func() *corev1.Secret {
		found := &corev1.Secret{}
		require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "one"}, found))
		return found
	}
	write("u", "1", "a")
	require.Equal(t, 1, read, "it is created")
	copied := present()
	copied.UID = "copy" // the client of tests gives none
	require.NoError(t, api.Update(t.Context(), copied))
	write("u", "1", "a")
	require.Equal(t, 2, read, "the copy is another one")
	write("u", "1", "a")
	require.Equal(t, 2, read, "nothing changed")
	write("u", "2", "b")
	require.Equal(t, 3, read, "the original changed")
	assert.Equal(t, []byte("b"), present().Data[kubeconfigKey])
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

// TestANamespaceThatDoesNotExistIsNoEmptySource tells a misspelt namespace from one without clusters.
func TestANamespaceThatDoesNotExistIsNoEmptySource(t *testing.T) {
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "there"}}
	for name, problem := range map[string]string{"there": "", "ther": `the source cluster has no namespace "ther"; correct spec.sourceNamespace`} {
		t.Run(name, func(t *testing.T) {
			source := &target.Cluster{Client: fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(there).Build()}
			sync := &v1alpha1.TargetSync{Spec: v1alpha1.TargetSyncSpec{SourceNamespace: name, SecretNameExpression: "."}}
			err := gatherSecrets(t.Context(), &scope{wanted: map[string]*wanted{}, pattern: regexp.MustCompile("."), sync: sync, source: source})
			if problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, problem)
		})
	}
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
