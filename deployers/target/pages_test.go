// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// pagesOf reads a list of objects, of which so many fit into an answer.
func pagesOf(objects, fit int64) (limits []int64, listed int64, err error) {
	err = Pages(100, func(limit int64, next string) (string, error) {
		limits = append(limits, limit)
		from, _ := strconv.ParseInt(next, 10, 64)
		if min(limit, objects-from) > fit {
			return "", fmt.Errorf("read: %w", egress.ErrLarge)
		}
		if listed += min(limit, objects-from); listed >= objects {
			return "", nil
		}
		return strconv.FormatInt(from+limit, 10), nil
	})
	return limits, listed, err
}

func TestPagesThatAreTooLargeAreReadInParts(t *testing.T) {
	for name, tc := range map[string]struct {
		objects, fit int64
		limits       []int64
		err          error
	}{
		"one":                   {500, 500, []int64{500}, nil},
		"several":               {1200, 500, []int64{500, 500, 500}, nil},
		"too large":             {200, 70, []int64{500, 62, 124, 15, 30, 60, 120}, nil},
		"an object too large":   {2, 0, []int64{500, 62, 7, 1}, egress.ErrLarge},
		"a list without an end": {1 << 40, 500, nil, ErrTooManyPages},
	} {
		t.Run(name, func(t *testing.T) {
			limits, listed, err := pagesOf(tc.objects, tc.fit)
			require.ErrorIs(t, err, tc.err)
			if tc.limits != nil {
				assert.Equal(t, tc.limits, limits)
			}
			if err == nil {
				assert.Equal(t, tc.objects, listed)
			}
		})
	}
}

// TestAListWhoseTokenExpiresBeginsAnew has a list of three pages, of which tokens expire.
func TestAListWhoseTokenExpiresBeginsAnew(t *testing.T) {
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old")
	for name, tc := range map[string]struct {
		// at is the page that is refused, times how often.
		at    string
		times int
		asked []string
		err   bool
	}{
		"once":                       {"2", 1, []string{"", "2", "", "2", "3"}, false},
		"once at the last page":      {"3", 1, []string{"", "2", "3", "", "2", "3"}, false},
		"for ever":                   {"2", 100, []string{"", "2", "", "2", "", "2", "", "2"}, true},
		"a page that needs no token": {"", 1, []string{""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			err := Pages(100, func(_ int64, next string) (string, error) {
				asked = append(asked, next)
				if next == tc.at && tc.times > 0 {
					tc.times--
					return "", fmt.Errorf("list: %w", expired)
				}
				return map[string]string{"": "2", "2": "3"}[next], nil
			})
			assert.Equal(t, tc.asked, asked)
			assert.Equal(t, tc.err, err != nil, "%v", err)
			if tc.err {
				assert.True(t, apierrors.IsResourceExpired(err), "it says why")
			}
		})
	}
}

// TestWhatFollowsMetadataLearnsOfAnotherBeginning has a list of two pages, of which the second is refused so many times.
func TestWhatFollowsMetadataLearnsOfAnotherBeginning(t *testing.T) {
	for name, tc := range map[string]struct {
		times int
		seen  []string
		err   bool
	}{
		"once":     {1, []string{"begin", "a", "begin", "a", "b"}, false},
		"for ever": {100, []string{"begin", "a", "begin", "a", "begin", "a", "begin", "a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			api, times, isSecond := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), tc.times, false
			api.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				name, page := "a", &metav1.List{}
				if isSecond && times > 0 {
					isSecond, times = false, times-1
					return true, nil, apierrors.NewResourceExpired("The provided continue parameter is too old")
				}
				if isSecond {
					name = "b"
				} else {
					isSecond, page.Continue = true, "2"
				}
				page.Items = []runtime.RawExtension{{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}}}
				return true, page, nil
			})
			var seen []string
			_, err := Handler{
				Begin:  func() { seen = append(seen, "begin") },
				Listed: func(object *metav1.PartialObjectMetadata) { seen = append(seen, object.Name) },
			}.list(t.Context(), api.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")), metav1.ListOptions{})
			assert.Equal(t, tc.seen, seen)
			assert.Equal(t, tc.err, err != nil, "%v", err)
		})
	}
}
