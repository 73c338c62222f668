// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// hidden is in everything of the sample that may not leave the server.
const hidden = "planted-secret"

// sample is a client of the landscape that the package landscape tests with. Requests for kinds that are withheld are refused.
func sample(t *testing.T, lists *atomic.Int64, withheld ...string) client.Client {
	t.Helper()
	text, err := os.ReadFile("../testdata/landscape.yaml")
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, landscape.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var objects []runtime.Object
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		object, _, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, "%s", document)
		objects = append(objects, object)
		value := v1alpha1.NewAnyJSON([]byte(`{"token":"` + hidden + `"}`))
		switch object := object.(type) {
		case *v1alpha1.Target:
			object.Spec.Configuration = &value
		case *v1alpha1.DataObject:
			object.Data = value
		case *v1alpha1.DeployItem:
			object.Spec.Configuration = &runtime.RawExtension{Raw: value.RawMessage}
		case *v1alpha1.Installation:
			object.Spec.ImportDataMappings = map[string]v1alpha1.AnyJSON{"login": value}
			object.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: hidden, v1alpha1.SubinstallationNameAnnotation: object.Annotations[v1alpha1.SubinstallationNameAnnotation]}
		}
	}
	objects = append(objects,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-login"}, StringData: map[string]string{"password": hidden}},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web.1"}, Reason: "JobStarted", Message: "job j5 started",
			InvolvedObject: corev1.ObjectReference{Kind: "Installation", Namespace: "team", Name: "web", UID: "4"},
		})
	return fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists.Add(1)
			for _, kind := range withheld {
				if fmt.Sprintf("%T", list) == fmt.Sprintf("*v1alpha1.%sList", kind) || fmt.Sprintf("%T", list) == fmt.Sprintf("*v1.%sList", kind) {
					return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
				}
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
}

// site is a page that is served.
type site struct {
	*testing.T
	address   string
	header    http.Header // of each request
	client    client.Client
	snapshots chan *landscape.Snapshot
}

func serve(t *testing.T, c client.Client) *site {
	t.Helper()
	s := &site{T: t, client: c, snapshots: make(chan *landscape.Snapshot)}
	s.address = start(t, &Server{Cluster: "https://landscaper.example.com", Reader: c}, s.snapshots)
	s.publish()
	s.landscape() // is shown from now on
	return s
}

// start serves on loopback until the end of the test, and returns the address.
func start(t *testing.T, server *Server, snapshots <-chan *landscape.Snapshot) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, snapshots) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-served)
	})
	return listener.Addr().String()
}

// publish shows what the cluster holds now.
func (s *site) publish() {
	s.Helper()
	snapshot, err := landscape.Read(s.Context(), s.client, "")
	require.NoError(s, err)
	s.snapshots <- snapshot
}

// get returns the answer to a request, whose text may be read once.
func (s *site) get(path string) (status int, text string) {
	s.Helper()
	answer := s.ask(path)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	return answer.StatusCode, string(body)
}

func (s *site) ask(path string) *http.Response {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.address+path, http.NoBody)
	require.NoError(s, err)
	request.Header = s.header
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	return answer
}

// follow opens a stream of changes. The function returns the next event with its data.
func (s *site) follow() func() (event, data string) {
	s.Helper()
	answer := s.ask("/api/changes")
	s.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewReader(answer.Body)
	return func() (event, data string) {
		s.Helper()
		for {
			line, err := lines.ReadString('\n')
			require.NoError(s, err)
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				event = strings.TrimSpace(name)
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				return event, text
			}
		}
	}
}

func (s *site) landscape() *Landscape {
	s.Helper()
	event, data := s.follow()()
	require.Equal(s, "landscape", event)
	shown := &Landscape{}
	require.NoError(s, json.Unmarshal([]byte(data), shown))
	return shown
}

func (s *site) detail(key string) *Detail {
	s.Helper()
	status, text := s.get("/api/object?key=" + url.QueryEscape(key))
	require.Equal(s, http.StatusOK, status, text)
	detail := &Detail{}
	require.NoError(s, json.Unmarshal([]byte(text), detail))
	return detail
}

func TestOnlyReadersOfThisMachineAreAnswered(t *testing.T) {
	s := serve(t, sample(t, &atomic.Int64{}))
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		method, host, path string
		status             int
	}{
		"by address":             {http.MethodGet, "127.0.0.1:" + port, "/", http.StatusOK},
		"by name":                {http.MethodGet, "localhost:" + port, "/api/object?key=Installation/team/web", http.StatusOK},
		"by the name of another": {http.MethodGet, "evil.example.com:" + port, "/", http.StatusMisdirectedRequest},
		"of another, for data":   {http.MethodGet, "evil.example.com", "/api/changes", http.StatusMisdirectedRequest},
		"at another port":        {http.MethodGet, "localhost:1", "/", http.StatusMisdirectedRequest},
		"without port":           {http.MethodGet, "localhost", "/", http.StatusMisdirectedRequest},
		"to change":              {http.MethodPost, s.address, "/api/object?key=Installation/team/web", http.StatusMethodNotAllowed},
		"to delete":              {http.MethodDelete, s.address, "/", http.StatusMethodNotAllowed},
		"for a Secret":           {http.MethodGet, s.address, "/api/object?key=Secret/team/web-login", http.StatusNotFound},
		"for a DataObject":       {http.MethodGet, s.address, "/api/object?key=DataObject/team/words", http.StatusNotFound},
		"for no object":          {http.MethodGet, s.address, "/api/events?key=web", http.StatusBadRequest},
		"for another file":       {http.MethodGet, s.address, "/server.go", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+s.address+test.path, http.NoBody)
			require.NoError(t, err)
			request.Host = test.host
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer answer.Body.Close()
			assert.Equal(t, test.status, answer.StatusCode)
			assert.Empty(t, answer.Header["Set-Cookie"])
			policy := answer.Header.Get("Content-Security-Policy")
			assert.Contains(t, policy, "default-src 'none'; script-src 'self'")
			assert.NotContains(t, policy, "unsafe")
		})
	}
}

func TestThePageIsWholeAndHasNoCodeInIt(t *testing.T) {
	text, err := fs.ReadFile(assets, "assets/index.html")
	require.NoError(t, err)
	assert.NotRegexp(t, `(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:`, string(text))
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		_, err := fs.Stat(assets, "assets/"+match[1])
		assert.NoError(t, err)
	}
}

func TestServesOnLoopbackOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer listener.Close()

	err = (&Server{}).Serve(t.Context(), listener, nil)

	assert.ErrorContains(t, err, "is no loopback address")
}

func TestNothingConfidentialLeavesTheServer(t *testing.T) {
	s := serve(t, sample(t, &atomic.Int64{}))
	_, text := s.follow()()
	assert.NotContains(t, text, hidden)

	nodes := s.landscape().Nodes
	require.NotEmpty(t, nodes)
	for _, node := range nodes {
		for _, path := range []string{"/api/object?key=", "/api/events?key="} {
			status, text := s.get(path + url.QueryEscape(node.Key))
			assert.Equal(t, http.StatusOK, status, text)
			assert.NotContains(t, text, hidden, node.Key)
		}
	}
}

func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	s := serve(t, sample(t, &atomic.Int64{}, "DeployItem", "Target", "Event"))

	assert.Equal(t, []string{"DeployItem", "Target"}, s.landscape().Withheld)

	assert.Empty(t, s.detail("Installation/team/database").DeployItems)
	status, text := s.get("/api/events?key=Installation/team/web")
	assert.Equal(t, http.StatusBadGateway, status)
	assert.Contains(t, text, "forbidden")
}

func TestViewersCauseNoRequests(t *testing.T) {
	var lists atomic.Int64
	s := serve(t, sample(t, &lists))
	before := lists.Load()
	var viewers sync.WaitGroup
	for range 20 {
		viewers.Go(func() {
			s.landscape()
			s.detail("Installation/team/web")
		})
	}
	viewers.Wait()

	assert.Equal(t, before, lists.Load())
}

func TestEventsAreListedOnceForAllWhoAskSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		e := &events{reader: sample(t, &lists)}
		web := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "4"}}
		ask := func() {
			found, err := e.of(t.Context(), []client.Object{web})
			assert.NoError(t, err)
			assert.Len(t, found, 1)
		}
		var viewers sync.WaitGroup
		for range 20 {
			viewers.Go(ask)
		}
		viewers.Wait()
		assert.EqualValues(t, 1, lists.Load())
		time.Sleep(freshness + time.Second)

		ask()

		assert.EqualValues(t, 2, lists.Load())
	})
}

func TestViewersGetWhatHasChanged(t *testing.T) {
	s := serve(t, sample(t, &atomic.Int64{}))
	next := s.follow()
	event, _ := next()
	require.Equal(t, "landscape", event)
	inst := &v1alpha1.Installation{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "database"}, inst))
	inst.Spec.Suspend = true
	require.NoError(t, s.client.Update(t.Context(), inst))
	require.NoError(t, s.client.Delete(t.Context(), &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "reports"}}))

	s.publish()

	event, data := next()
	assert.Equal(t, "changes", event)
	changes := &Changes{}
	require.NoError(t, json.Unmarshal([]byte(data), changes))
	assert.Contains(t, changes.Removed, "Installation/team/reports")
	suspended := map[string]bool{}
	for _, node := range changes.Nodes {
		suspended[node.Key] = node.Status.Suspended
	}
	assert.True(t, suspended["Installation/team/database"])
	assert.NotContains(t, suspended, "Installation/team/web-cache-bbbbbbbb")
	require.NotNil(t, changes.Edges)
	for _, edge := range *changes.Edges {
		assert.NotEqual(t, "Installation/team/reports", edge.To)
	}
}

func TestTheLandscapeSaysWhoGivesWhatToWhomAndHowTheyAre(t *testing.T) {
	s := serve(t, sample(t, &atomic.Int64{}))
	shown := s.landscape()

	states := map[string]string{}
	for _, node := range shown.Nodes {
		states[node.Key] = strings.TrimSpace(node.State + " " + node.Parent)
	}
	assert.Equal(t, "Drifted", states["Installation/team/database"])
	assert.Equal(t, "Failing Installation/team/web", states["Installation/team/web-front-aaaaaaaa"])
	assert.Equal(t, "Working", states["Installation/team/monitoring"])
	assert.Contains(t, shown.Edges, Edge{From: "Installation/team/database", To: "Installation/team/web", Kind: "data", Names: []string{"database-url"}})

	database := s.detail("Installation/team/database")
	assert.Equal(t, "Kustomization/flux-system/apps", database.Kustomization)
	require.Len(t, database.Exports, 1)
	assert.Contains(t, database.Exports[0].To, "Installation/team/web")
	require.Len(t, database.DeployItems, 1)
	assert.Equal(t, "postgres helm production Drifted", strings.Join([]string{database.DeployItems[0].Name, database.DeployItems[0].Type, database.DeployItems[0].Target, database.DeployItems[0].State}, " "))
	assert.Equal(t, 3, database.DeployItems[0].Deployed[0].Revision)
	require.Len(t, database.History, 1)

	front := s.detail("Installation/team/web-front-aaaaaaaa")
	assert.Contains(t, front.Why.Chain[0].Status.Message, `map has no entry for key "titel"`)
	require.NotNil(t, front.Job)
	critical := map[string]bool{}
	for _, span := range front.Job.Spans {
		critical[span.Title] = span.Critical
	}
	assert.Equal(t, map[string]bool{"web": true, "front": true, "cache": false}, critical)
}
