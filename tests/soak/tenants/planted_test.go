// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// planting is a secret that stands somewhere, and something that goes wrong beside it.
type planting struct {
	// prepare makes what the Installation uses.
	prepare func(s *landscape.Scene, secret string)
	// blueprint and parts of the Installation; see hostile.create.
	blueprint func(s *landscape.Scene, secret string) object
	parts     object
	// schema of the import, if there is one.
	schema object
	// numeric secrets are numbers.
	numeric bool
	// says is what the message must have, so that it is the one that could show the secret.
	says string
}

// dataObject plants a value in a DataObject, under a key that sounds like nothing.
func dataObject(value func(secret string) any) func(*landscape.Scene, string) {
	return func(s *landscape.Scene, secret string) {
		s.Put("DataObject", "word", object{"data": object{"greeting": value(secret)}})
	}
}

func text(secret string) any { return secret }

func number(secret string) any { return json.Number(secret) }

// inSecret plants a value in a Secret, under a key that sounds like nothing.
func inSecret(s *landscape.Scene, secret string) {
	s.T.Helper()
	planted := &corev1.Secret{ObjectMeta: s.Named("word"), StringData: map[string]string{"greeting": secret}}
	require.NoError(s.T, s.Client().Create(s.Ctx, planted))
}

// given are the imports of the cluster and of the DataObject "word".
func given(more ...object) object {
	data := []any{object{"name": "word", "dataRef": "word"}}
	for _, one := range more {
		data = append(data, one)
	}
	return object{"imports": object{"targets": []any{object{"name": "cluster", "target": "cluster"}}, "data": data}}
}

// fromSecret are the imports of the cluster and of the Secret "word".
func fromSecret() object {
	return object{"imports": object{
		"targets": []any{object{"name": "cluster", "target": "cluster"}},
		"data":    []any{object{"name": "word", "secretRef": object{"name": "word", "key": "greeting"}}},
	}}
}

// deploying is a blueprint with a template in a language.
func deploying(language, template string) func(*landscape.Scene, string) object {
	return func(*landscape.Scene, string) object {
		return object{"deployExecutions": []any{object{"name": "default", "type": language, "template": template}}}
	}
}

// charted is a blueprint with a chart of some files; %s in them, and in the settings, is the secret.
func charted(files map[string]string, settings ...string) func(*landscape.Scene, string) object {
	return func(s *landscape.Scene, secret string) object {
		planted := map[string]string{}
		for name, content := range files {
			planted[name] = strings.ReplaceAll(content, "%s", secret)
		}
		var lines []string
		for _, line := range settings {
			lines = append(lines, strings.ReplaceAll(line, "%s", secret))
		}
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + chartItem("chart", s.Namespace, planted, lines...))}
	}
}

// answering is a Target whose cluster answers each request with the token of the request, which is the secret.
func answering(s *landscape.Scene, secret string) {
	s.T.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", secret)
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "who are you? "+r.Header.Get("Authorization"))
	}))
	server.StartTLS()
	s.T.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s.TargetOf("cluster", &rest.Config{Host: server.URL, BearerToken: secret, TLSClientConfig: rest.TLSClientConfig{CAData: authority}})
}

func manifestOfSecret(field string) func(*landscape.Scene, string) object {
	return func(s *landscape.Scene, _ string) object {
		item := landscape.ConfigItem("manifest", "{import: cluster}", s.Namespace, "planted", "")
		item = strings.Replace(item, "kind: ConfigMap", "kind: Secret", 1)
		item = strings.Replace(item, "        data:\n          \n", "        "+field+"\n", 1)
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + item)}
	}
}

// manifestOfService is a blueprint with a manifest that no API server accepts, because a field of it has the value of an import.
func manifestOfService(s *landscape.Scene, _ string) object {
	item := landscape.ConfigItem("manifest", "{import: cluster}", s.Namespace, "planted", "")
	item = strings.Replace(item, "kind: ConfigMap", "kind: Service", 1)
	item = strings.Replace(item, "        data:\n          \n", "        spec: {ports: [{port: 80}], clusterIP: '{{ .imports.word.greeting }}'}\n", 1)
	return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + item)}
}

// long is a text of one line that no message has room for.
func long(secret string) any { return secret + strings.Repeat("-", 10_000) }

const (
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: planted}\nspec: {ports: [{port: 80}], clusterIP: '{{ .Values.greeting }}'}\n"
	failing = "{{ fail .Values.greeting }}"
	hook    = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: of-hook\n  annotations: {helm.sh/hook: pre-install}\n"
)

var plantings = map[string]planting{
	"neutral key, GoTemplate": {prepare: dataObject(text), parts: given(), blueprint: deploying("GoTemplate", `{{ fail .imports.word.greeting }}`), says: "deployExecutions[0]"},
	"neutral key, as base64":  {prepare: dataObject(text), parts: given(), blueprint: deploying("GoTemplate", `{{ fail (b64enc .imports.word.greeting) }}`), says: "deployExecutions[0]"},
	"neutral key, within others as base64": {prepare: dataObject(text), parts: given(), says: "deployExecutions[0]",
		blueprint: deploying("GoTemplate", `{{ fail (b64enc (printf "user:%s" .imports.word.greeting)) }}`)},
	"neutral key, long":  {prepare: dataObject(long), parts: given(), blueprint: deploying("GoTemplate", `{{ fail .imports.word.greeting }}`), says: "deployExecutions[0]"},
	"neutral key, Spiff": {prepare: dataObject(text), parts: given(), blueprint: deploying("Spiff", `deployItems: (( error(imports.word.greeting) ))`), says: "deployExecutions[0]"},
	"number, GoTemplate": {prepare: dataObject(number), parts: given(), numeric: true, blueprint: deploying("GoTemplate", `{{ fail (printf "%v" .imports.word.greeting) }}`), says: "deployExecutions[0]"},
	"number, whole":      {prepare: dataObject(number), parts: given(), numeric: true, blueprint: deploying("GoTemplate", `{{ fail (printf "%d" (int64 .imports.word.greeting)) }}`), says: "deployExecutions[0]"},
	"Secret, GoTemplate": {prepare: inSecret, parts: fromSecret(), blueprint: deploying("GoTemplate", `{{ fail .imports.word }}`), says: "deployExecutions[0]"},
	"output of a template": {prepare: dataObject(text), parts: given(), says: "deployExecutions[0]",
		blueprint: deploying("GoTemplate", "deployItems: {{ .imports.word.greeting }}")},
	"output that is not YAML": {prepare: dataObject(text), parts: given(), says: "deployExecutions[0]",
		blueprint: deploying("GoTemplate", "deployItems: [a\n{{ .imports.word.greeting }}: ]: {")},
	"schema": {prepare: dataObject(text), parts: given(), says: "word", blueprint: deploying("GoTemplate", ""), schema: object{
		"type": "object", "properties": object{"greeting": object{"type": "integer", "pattern": "^x$", "enum": []any{1}}},
	}},
	"mapping": {prepare: dataObject(text), says: "importDataMappings", blueprint: deploying("GoTemplate", ""), parts: func() object {
		parts := given()
		parts["importDataMappings"] = object{"made": "(( error(word.greeting) ))"}
		return parts
	}()},
	"export that does not fit": {says: "answer", parts: object{"exports": object{"data": []any{object{"name": "answer", "dataRef": "answer"}}}},
		blueprint: func(_ *landscape.Scene, secret string) object {
			return object{
				"exports":          []any{object{"name": "answer", "type": "data", "schema": object{"type": "integer"}}},
				"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("mock", "export: {answer: "+secret+"}")),
				"exportExecutions": landscape.GoTemplate(`exports: {answer: {{ index .values.deployitems "mock" "answer" }}}`),
			}
		}},
	"chart default": {blueprint: charted(map[string]string{
		"values.yaml": "password: '%s'\n", "templates/x.yaml": "{{ fail .Values.password }}"}), says: "chart"},
	"chart default of a number": {numeric: true, says: "chart", blueprint: charted(map[string]string{
		"values.yaml": "pin: {secret: %s}\n", "templates/x.yaml": `{{ fail (printf "%.0f" .Values.pin.secret) }}`})},
	"chart value":            {blueprint: charted(map[string]string{"templates/x.yaml": failing}, "values: {greeting: '%s'}"), says: "chart"},
	"chart value, as base64": {blueprint: charted(map[string]string{"templates/x.yaml": "{{ fail (b64enc .Values.greeting) }}"}, "values: {greeting: '%s'}"), says: "chart"},
	"chart value, within others as base64": {says: "chart", blueprint: charted(
		map[string]string{"templates/x.yaml": `{{ fail (b64enc (printf "user:%s" .Values.greeting)) }}`}, "values: {greeting: '%s'}")},
	"chart value, as hex":               {blueprint: charted(map[string]string{"templates/x.yaml": `{{ fail (printf "%x" .Values.greeting) }}`}, "values: {greeting: '%s'}"), says: "chart"},
	"chart value that a target refuses": {blueprint: charted(map[string]string{"templates/x.yaml": service}, "values: {greeting: '%s'}"), says: "clusterIP"},
	"chart value from a Secret": {prepare: inSecret, says: "chart", blueprint: charted(map[string]string{"templates/x.yaml": failing},
		"valuesFrom: [{kind: Secret, name: word, valuesKey: greeting, targetPath: greeting}]")},
	"hook":                           {blueprint: charted(map[string]string{"templates/x.yaml": hook + "data: {greeting: '*{{ .Values.greeting }}'}\n"}, "values: {greeting: '%s'}"), says: "hook"},
	"hook of a wrong kind":           {blueprint: charted(map[string]string{"templates/x.yaml": hook + "stringData: ['{{ .Values.greeting }}']\n"}, "values: {greeting: '%s'}"), says: "hook"},
	"manifest that a target refuses": {prepare: dataObject(text), parts: given(), blueprint: manifestOfService, says: "clusterIP"},
	"answer of a target":             {prepare: answering, says: "ask for the kinds of v1", blueprint: manifestOfSecret("data: {}")},
	"manifest that is no base64":     {prepare: dataObject(text), parts: given(), blueprint: manifestOfSecret("data: {greeting: '*{{ .imports.word.greeting }}'}"), says: "manifest"},
	"manifest of a wrong type":       {prepare: dataObject(text), parts: given(), blueprint: manifestOfSecret("data: ['{{ .imports.word.greeting }}']"), says: "manifest"},
}

// TestGatePlantedSecretsAreNowhere lets something go wrong beside each secret, and looks for it in whatever people read.
func TestGatePlantedSecretsAreNowhere(t *testing.T) {
	planted := map[string]string{}
	for name, p := range plantings {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, 1)
			secret := newSecret(t, p.numeric)
			planted[name] = secret
			if p.prepare != nil {
				p.prepare(h.Scene, secret)
			}
			if p.schema != nil {
				require.NoError(t, h.createWith("planted", object{"name": "word", "type": "data", "schema": p.schema}, p.parts))
			} else {
				require.NoError(t, h.create("planted", p.blueprint(h.Scene, secret), p.parts))
			}
			said := h.trouble()
			t.Log(said)
			assert.Contains(t, said, p.says)
			assertAbsent(t, secret, "what the objects say", h.Told())
		})
	}
	for name, secret := range planted {
		for process, running := range landscape.Shared(t).Processes {
			assertAbsent(t, secret, name+": log of "+process, running.LogTail(1<<30))
			assertAbsent(t, secret, name+": metrics of "+process, metricsOf(t, process))
		}
	}
}

// newSecret returns a text, or a number, that is nowhere yet.
func newSecret(t *testing.T, numeric bool) string {
	t.Helper()
	if numeric {
		n, err := rand.Int(rand.Reader, big.NewInt(8e14))
		require.NoError(t, err)
		return fmt.Sprint(int64(1e14) + n.Int64())
	}
	return "p" + strings.ToLower(rand.Text())
}

// trouble waits until an object of the namespace says that something is wrong, and returns what all of them say.
func (h *hostile) trouble() (said string) {
	h.T.Helper()
	told := func() bool {
		said = ""
		for _, job := range h.Workers() {
			if landscape.IsTrouble(job) {
				said += fmt.Sprintf("%s (%s): %s\n", job.LastError.Reason, job.LastError.Operation, job.LastError.Message)
			}
		}
		return said != ""
	}
	require.True(h.T, assertEventually(told, time.Minute), "nothing is wrong")
	return said
}

// metricsOf returns what a process measures.
func metricsOf(t *testing.T, process string) string {
	t.Helper()
	response, err := http.Get("http://" + landscape.Shared(t).Metrics[process] + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close() // it is read only
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(content), "go_goroutines")
	return string(content)
}

// assertAbsent checks that a text has a secret in none of its shapes.
func assertAbsent(t *testing.T, secret, where, text string) {
	t.Helper()
	shapes := map[string]string{"plain": secret, "hex": hex.EncodeToString([]byte(secret))}
	for before := range 3 {
		// What comes before and after a text decides on the first and last characters of its base64.
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		shapes[fmt.Sprintf("base64 after %d bytes", before)] = encoded[4 : len(encoded)-4]
	}
	for shape, hidden := range shapes {
		if at := strings.Index(text, hidden); at >= 0 {
			assert.Fail(t, "a secret is shown", "%s, %s: %s", where, shape, text[max(0, at-200):min(len(text), at+200)])
		}
	}
}
