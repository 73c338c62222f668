// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// told is everything that others read about an item: its status, and the events of its namespace.
func (s *served) told(item *v1alpha1.DeployItem) string {
	s.t.Helper()
	events := &corev1.EventList{}
	require.Eventually(s.t, func() bool {
		return s.p.Client().List(s.t.Context(), events, client.InNamespace(item.Namespace)) == nil &&
			slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name == item.Name })
	}, time.Minute, 20*time.Millisecond, "the failure has an event")
	raw, err := json.Marshal([]any{item.Status, events.Items})
	require.NoError(s.t, err)
	return string(raw)
}

const planted = "p7xk2vq9sunflower"

func TestWhatAContainerWasGivenIsNotShown(t *testing.T) {
	s, count := serve(t), 0
	kubeconfig := "apiVersion: v1\nkind: Config\nclusters: [{name: plain-name, cluster: {server: https://plain.example.com}}]\n" +
		"users: [{name: plain-user, user: {token: " + planted + "}}]\n"
	key := base64.StdEncoding.EncodeToString([]byte("-----BEGIN KEY-----\n" + planted + "\n-----END KEY-----\n"))
	for name, test := range map[string]struct {
		target document
		more   string
		script string
	}{
		"import":               {nil, "importValues: {word: " + planted + "}\n", `echo "it is p7xk2vq9sun""flower" >&2`},
		"import, encoded":      {nil, "importValues: {word: " + planted + "}\n", `printf "it is %s" "$(printf p7xk2vq9sun''flower | base64)" >&2`},
		"all imports":          {nil, "importValues: {word: [{deep: " + planted + "}]}\n", `cat "$IMPORTS_PATH" >&2`},
		"target":               {document{"config": document{"anything": planted}}, "", `cat "$TARGET_PATH" >&2`},
		"token of a target":    {document{"config": document{"kubeconfig": kubeconfig}}, "", `cat "$TARGET_PATH" >&2; echo plain-name >&2`},
		"key of a target":      {document{"config": document{"users": []any{document{"user": document{"client-key-data": key}}}}}, "", `echo p7xk2vq9sun""flower >&2`},
		"key of a target, raw": {document{"config": document{"kubeconfig": strings.ReplaceAll(kubeconfig, planted, key)}}, "", `cat "$TARGET_PATH" >&2`},
	} {
		count++
		called := fmt.Sprintf("item-%d", count)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			item := s.item(called, script(test.script+`; echo plain-text >&2; exit 7`)+test.more)
			if test.target != nil {
				s.target(called, test.target)
				item.Spec.Target = &v1alpha1.DeployItemTarget{Name: called}
			}
			s.add(item)

			s.fail(item, "ended with exit code 7")

			said := s.told(item)
			assert.NotContains(t, said, planted)
			assert.NotContains(t, said, base64.RawStdEncoding.EncodeToString([]byte(planted)))
			assert.NotContains(t, said, key)
			assert.Contains(t, item.Status.LastError.Message, "plain-text", "what is no secret is shown")
			if strings.Contains(test.script, "plain-name") {
				assert.Contains(t, item.Status.LastError.Message, "plain-name", "the names in a kubeconfig are none")
			}
		})
	}
}

// TestAMessageThatBeginsInASecretDoesNotShowIt gives messages as long as the kubelet makes them of a log or a file: their beginning is cut off.
func TestAMessageThatBeginsInASecretDoesNotShowIt(t *testing.T) {
	s, count, token := serve(t), 0, strings.Repeat("abcdefghijklmnopqrstuvwxyz0123", 100)
	s.target("place", document{"config": document{"token": token}})
	for name, test := range map[string]struct{ script, shown string }{
		"end of a log":               {`printf %s TOKEN | tail -c 2048 >&2`, "too long to be shown"},
		"end of a log, more follows": {`printf %s TOKEN | tail -c 2036 >&2; printf '\nplain-text\n' >&2`, "plain-text"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			count++
			item := s.item(fmt.Sprintf("item-%d", count), script(strings.ReplaceAll(test.script, "TOKEN", token)+`; exit 7`))
			item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "place"}
			s.add(item)

			s.fail(item, "ended with exit code 7")

			assert.NotContains(t, s.told(item), token[len(token)-20:])
			assert.Contains(t, item.Status.LastError.Message, test.shown)
		})
	}
}

func TestARegistryThatRepeatsALoginDoesNotShowIt(t *testing.T) {
	s := serve(t)
	require.NoError(t, s.p.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "login"},
		Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths": {"registry.invalid": {"username": "plain-user", "password": "` + planted + `",
			"auth": "` + base64.StdEncoding.EncodeToString([]byte("plain-user:"+planted)) + `"}}}`)}}))
	item := s.create("image: " + refusedImage + "\nregistryPullSecrets: [{name: login}]\nimportValues: {image: '" + refusedImage + "'}\n")

	s.fail(item, "ErrImagePull: failed to resolve reference "+refusedImage+": denied: registry.invalid refuses plain-user")

	said := s.told(item)
	assert.NotContains(t, said, planted)
	assert.NotContains(t, said, base64.StdEncoding.EncodeToString([]byte("plain-user:"+planted)))
}

func TestUnfolding(t *testing.T) {
	shows := func(value any, text string) bool {
		return templating.Masked(text, map[string]any{"value": unfolded(value, maxFolds)}) == text
	}
	for name, test := range map[string]struct {
		value  any
		hidden bool
	}{
		"text":                     {planted, true},
		"line of a text":           {"one\n" + planted, true},
		"document":                 {"a: {b: [" + planted + "]}", true},
		"document in a document":   {`{"a": "b: ` + planted + `\nc: d"}`, true},
		"base64":                   {base64.StdEncoding.EncodeToString([]byte("x: " + planted)), true},
		"document that is none":    {"a: b: " + planted, false},
		"credential of kubeconfig": {map[string]any{"clusters": []any{}, "users": []any{map[string]any{"user": map[string]any{"token": planted}}}}, true},
		"name in a kubeconfig":     {map[string]any{"clusters": []any{}, "users": []any{map[string]any{"name": planted}}}, false},
		"users of something else":  {map[string]any{"users": []any{map[string]any{"name": planted}}}, true},
		"nothing":                  {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.hidden, !shows(test.value, "it is "+planted+" then"))
		})
	}
	for name, text := range map[string]string{
		"text like a map":                "sesame: abc",
		"text like a map, with an end":   "sesame: abc\n",
		"text like a list":               "[abc12]",
		"text like a map, in base64":     base64.StdEncoding.EncodeToString([]byte("sesame: abc")),
		"text like a map, in a document": `{"a": "sesame: abc"}`,
	} {
		t.Run(name, func(t *testing.T) {
			plain := "sesame: abc"
			if strings.HasPrefix(text, "[") {
				plain = text
			}
			assert.False(t, shows(text, "it is "+plain+" then"))
		})
	}
	oneLine := "{clusters: [], users: [{name: " + planted + ", user: {token: abc}}]}"
	assert.True(t, shows(oneLine, "it is "+planted+" then"), "names in a kubeconfig of one line are none")
	assert.Nil(t, inImports([]byte("[")))
	assert.Empty(t, inLogins([]byte("[")))
}

// TestUnfoldingTakesNoMoreThanWasWritten gives imports of 8 KiB whose texts stand for a million values.
func TestUnfoldingTakesNoMoreThanWasWritten(t *testing.T) {
	bomb := "a: &a [" + strings.Repeat("1,", 240) + "1]\n"
	for i := range 120 {
		bomb += fmt.Sprintf("k%d: [*a,*a]\n", i)
	}
	bombs := make([]any, 20)
	for i := range bombs {
		bombs[i] = fmt.Sprintf("%sx: %d\n", bomb, i)
	}

	assert.Less(t, countValues(unfolded(bombs, maxFolds)), 100)
	found := unfolded("a: &a {password: "+planted+"}\nb: *a\ncomment: so long that the text has more bytes than all values with aliases\n", maxFolds)
	assert.Equal(t, 2, strings.Count(fmt.Sprint(found), planted), "aliases for less than the text are written out")
}

func countValues(value any) int {
	count := 1
	switch typed := value.(type) {
	case []any:
		for _, entry := range typed {
			count += countValues(entry)
		}
	case map[string]any:
		for _, entry := range typed {
			count += countValues(entry)
		}
	}
	return count
}
