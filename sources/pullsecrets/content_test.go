// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pullsecrets

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestWhatIsReadFromANamespace(t *testing.T) {
	errWorded, errDown := errors.New("worded"), errors.New("down")
	there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "there"}, Data: map[string][]byte{"a": []byte("b")}}
	reader := fake.NewClientBuilder().WithObjects(there).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Name == "down" {
				return errDown
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	for name, tc := range map[string]struct {
		secret   string
		leaveOut bool
		worded   func(error) bool
		err      error
	}{
		"there":                {secret: "there"},
		"missing":              {secret: "missing", worded: apierrors.IsNotFound, err: errWorded},
		"missing and left out": {secret: "missing", leaveOut: true, err: ErrLeaveOut},
		"not answered":         {secret: "down", leaveOut: true, worded: func(err error) bool { return errors.Is(err, errDown) }, err: errWorded},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := From(t.Context(), reader, "n", tc.leaveOut, func(name string, err error) error {
				assert.Equal(t, tc.secret, name)
				assert.True(t, tc.worded != nil && tc.worded(err))
				return errWorded
			})(tc.secret)
			assert.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.err == nil, data != nil)
		})
	}
}

func TestDigest(t *testing.T) {
	secrets := func(name, key, value, more string) map[string]map[string][]byte {
		return map[string]map[string][]byte{name: {key: []byte(value)}, "z": {"more": []byte(more)}}
	}
	one := Digest(secrets("s", "key", "value", "more"))
	assert.Equal(t, one, Digest(secrets("other", "key", "value", "more")), "whatever it is called")
	assert.NotEqual(t, one, Digest(secrets("s", "key", "valuem", "ore")))
	assert.NotEqual(t, one, Digest(secrets("s", "keyv", "alue", "more")))
	assert.NotEqual(t, one, Digest(map[string]map[string][]byte{"s": {"key": []byte("value"), "more": []byte("more")}}))
}
