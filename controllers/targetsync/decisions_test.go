// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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
	key, one, two := types.NamespacedName{Namespace: "n", Name: "a"}, version{"u", "1"}, version{"u", "2"}
	c.note(key, one, two)
	assert.True(t, c.known(key, one, two))
	assert.False(t, c.known(key, two, two), "the original has changed")
	assert.False(t, c.known(key, one, one), "the copy has changed")
	assert.False(t, c.known(key, one, version{}), "the copy is gone")
	c.keep("n", map[string]*wanted{})
	assert.False(t, c.known(key, one, two), "nobody wants it any more")
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
