// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{landscape.AddToScheme, rbacv1.AddToScheme}}))
}

const secret = "0123456789abcdef0123456789abcdef"

// behind is the proxy of a site that names a viewer.
func (s *site) behind(user string, groups ...string) *site {
	viewer := *s
	viewer.header = http.Header{userHeader: {user}, "X-Remote-Group": groups, secretHeader: {secret}}
	return &viewer
}

func TestThePageIsForNobodyByAccident(t *testing.T) {
	loopback, everywhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4zero}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }
	for name, test := range map[string]struct {
		access Access
		at     net.Addr
		cure   string // empty where it starts
	}{
		"nothing":                        {Access{}, everywhere, "--allowed-hosts"},
		"hosts alone":                    {Access{Hosts: []string{"a"}}, everywhere, "--requestheader-client-ca-file"},
		"hosts alone, on loopback":       {Access{Hosts: []string{"a"}}, loopback, "--requestheader-client-ca-file"},
		"TLS alone":                      {Access{Hosts: []string{"a"}, Certificate: certificate}, everywhere, "--everyone-sees-all"},
		"everyone":                       {Access{Hosts: []string{"a"}, EveryoneSeesAll: true}, everywhere, ""},
		"everyone, for any host":         {Access{EveryoneSeesAll: true}, everywhere, "--allowed-hosts"},
		"everyone, and a proxy":          {Access{Hosts: []string{"a"}, EveryoneSeesAll: true, Secret: secret}, everywhere, "remove it"},
		"a certificate":                  {Access{Hosts: []string{"a"}, ClientCAs: x509.NewCertPool(), Certificate: certificate}, everywhere, ""},
		"a certificate, in plain text":   {Access{Hosts: []string{"a"}, ClientCAs: x509.NewCertPool()}, loopback, "--tls-cert-file"},
		"a secret":                       {Access{Hosts: []string{"a"}, Secret: secret, Certificate: certificate}, everywhere, ""},
		"a short secret":                 {Access{Hosts: []string{"a"}, Secret: "hello", Certificate: certificate}, everywhere, "has 5 characters"},
		"a secret, in plain text":        {Access{Hosts: []string{"a"}, Secret: secret}, everywhere, "plain text"},
		"a secret, beside the proxy":     {Access{Hosts: []string{"a"}, Secret: secret}, loopback, ""},
		"a secret, in the same network?": {Access{Hosts: []string{"a"}, Secret: secret}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, "plain text"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.access.Check(test.at)
			if test.cure == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.cure)
		})
	}
}

func TestTheProxySaysWhoLooks(t *testing.T) {
	for name, test := range map[string]struct {
		separator string
		headers   http.Header
		want      *viewer // nil where it is refused
	}{
		"a user":                {"", http.Header{userHeader: {"ann"}}, &viewer{"ann", []string{"system:authenticated"}}},
		"with groups":           {"", http.Header{userHeader: {"ann"}, "X-Remote-Group": {"a,b", "c"}}, &viewer{"ann", []string{"a,b", "c", "system:authenticated"}}},
		"with joined groups":    {",", http.Header{userHeader: {"ann"}, "X-Remote-Group": {"a,b", "c,"}}, &viewer{"ann", []string{"a", "b", "c", "system:authenticated"}}},
		"in a header of others": {"", http.Header{userHeader: {"ann"}, "X-Forwarded-Groups": {"system:masters"}}, &viewer{"ann", []string{"system:authenticated"}}},
		"nobody in particular":  {"", http.Header{userHeader: {"system:anonymous"}}, &viewer{"system:anonymous", nil}},
		"nobody":                {"", http.Header{}, nil},
		"an empty name":         {"", http.Header{userHeader: {""}}, nil},
		"two":                   {"", http.Header{userHeader: {"ann", "root"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Access{Secret: secret, GroupHeaders: []string{"X-Remote-Group"}, GroupSeparator: test.separator}
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header = test.headers
			r.Header.Set(secretHeader, secret)

			who, err := a.viewer(r)

			assert.Equal(t, test.want, who)
			assert.Equal(t, test.want == nil, err != nil)
		})
	}
	t.Run("groups that nobody asked for", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header = http.Header{userHeader: {"ann"}, "X-Remote-Group": {"system:masters"}, secretHeader: {secret}}
		who, err := (&Access{Secret: secret}).viewer(r)
		require.NoError(t, err)
		assert.Equal(t, []string{"system:authenticated"}, who.groups)
	})
}

func TestOnlyTheProxyIsAnswered(t *testing.T) {
	cluster := platform.Shared(t).Cluster
	own := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate for the address
	own.Close()
	certificateOf := func(name string) []tls.Certificate {
		user, err := cluster.NewUser(name)
		require.NoError(t, err)
		certificate, err := tls.X509KeyPair(user.CertData, user.KeyData)
		require.NoError(t, err)
		return []tls.Certificate{certificate}
	}
	authority := x509.NewCertPool()
	require.True(t, authority.AppendCertsFromPEM(cluster.RestConfig.CAData))
	byCertificate := Access{ClientCAs: authority, Names: []string{"proxy"}}
	for name, test := range map[string]struct {
		access       Access
		certificates []tls.Certificate
		headers      http.Header
		host         string
		status       int // 0 where not even TLS comes about
	}{
		"with its certificate":                  {byCertificate, certificateOf("proxy"), http.Header{userHeader: {"ann"}}, "page", http.StatusOK},
		"with that of another":                  {byCertificate, certificateOf("stranger"), http.Header{userHeader: {"ann"}}, "page", http.StatusForbidden},
		"with that of another authority":        {byCertificate, own.TLS.Certificates, http.Header{userHeader: {"ann"}}, "page", 0},
		"with none":                             {byCertificate, nil, http.Header{userHeader: {"ann"}}, "page", 0},
		"with any of the authority":             {Access{ClientCAs: authority}, certificateOf("stranger"), http.Header{userHeader: {"ann"}}, "page", http.StatusOK},
		"with its secret":                       {Access{Secret: secret}, nil, http.Header{userHeader: {"ann"}, secretHeader: {secret}}, "page:8443", http.StatusOK},
		"with another secret":                   {Access{Secret: secret}, nil, http.Header{userHeader: {"ann"}, secretHeader: {secret + "0"}}, "page", http.StatusForbidden},
		"with a guess beside it":                {Access{Secret: secret}, nil, http.Header{userHeader: {"ann"}, secretHeader: {secret, "guess"}}, "page", http.StatusForbidden},
		"with no secret":                        {Access{Secret: secret}, nil, http.Header{userHeader: {"ann"}}, "page", http.StatusForbidden},
		"with the certificate, where both must": {Access{ClientCAs: authority, Secret: secret}, certificateOf("proxy"), http.Header{userHeader: {"ann"}}, "page", http.StatusForbidden},
		"for nobody":                            {byCertificate, certificateOf("proxy"), nil, "page", http.StatusForbidden},
		"for another host":                      {byCertificate, certificateOf("proxy"), http.Header{userHeader: {"ann"}}, "evil.example.com", http.StatusMisdirectedRequest},
		"everyone":                              {Access{EveryoneSeesAll: true}, nil, nil, "PAGE", http.StatusOK},
		"everyone, for another host":            {Access{EveryoneSeesAll: true}, nil, nil, "evil.example.com", http.StatusMisdirectedRequest},
	} {
		t.Run(name, func(t *testing.T) {
			access := test.access
			access.Hosts, access.Client = []string{"other", "page"}, sample(t, &atomic.Int64{})
			access.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &own.TLS.Certificates[0], nil }
			address := start(t, &Server{Reader: access.Client, Access: &access}, make(chan *landscape.Snapshot))
			trusted := x509.NewCertPool()
			trusted.AddCert(own.Certificate())
			proxy := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: test.certificates, MinVersion: tls.VersionTLS12}}}
			defer proxy.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/", http.NoBody)
			require.NoError(t, err)
			request.Header, request.Host = test.headers, test.host

			answer, err := proxy.Do(request)

			if test.status == 0 {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			defer answer.Body.Close()
			assert.Equal(t, test.status, answer.StatusCode)
		})
	}
}

// reviewed is a sample whose API server lets viewers list what may says, and counts how often it is asked.
func reviewed(t *testing.T, asked *atomic.Int64, may func(*authorizationv1.SubjectAccessReviewSpec) bool) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, landscape.AddToScheme(scheme))
	require.NoError(t, authorizationv1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			asked.Add(1)
			review := object.(*authorizationv1.SubjectAccessReview)
			review.Status.Allowed = may(&review.Spec)
			return nil
		},
	}).Build()
}

func TestRightsAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var allowed atomic.Bool
		a := &Access{Client: reviewed(t, &asked, func(*authorizationv1.SubjectAccessReviewSpec) bool { return allowed.Load() })}
		require.NoError(t, a.prepare())
		may := func() bool {
			answer, err := a.may(t.Context(), &viewer{user: "ann"}, scope{"Installation", "team"})
			require.NoError(t, err)
			return answer
		}
		assert.False(t, may())
		allowed.Store(true)
		assert.False(t, may(), "it was asked for just now")
		time.Sleep(deniedFor + time.Second)
		assert.True(t, may())
		allowed.Store(false)
		assert.True(t, may(), "it was asked for just now")
		time.Sleep(allowedFor + time.Second)
		assert.False(t, may())
		assert.EqualValues(t, 3, asked.Load())
	})
}

func TestANamespaceThatIsNotSeenCostsOneQuestion(t *testing.T) {
	var asked atomic.Int64
	a := &Access{Client: reviewed(t, &asked, func(spec *authorizationv1.SubjectAccessReviewSpec) bool {
		return spec.ResourceAttributes.Namespace == "mine"
	})}
	require.NoError(t, a.prepare())
	var there []scope
	for _, namespace := range []string{"mine", "theirs"} {
		for _, kind := range []string{"Installation", "Execution", "DeployItem", "Target", "DataObject", "Lease"} {
			there = append(there, scope{kind, namespace})
		}
	}

	found, err := a.rightsOf(t.Context(), &viewer{user: "ann"}, there)

	require.NoError(t, err)
	ours := 7 // kinds in namespaces
	assert.EqualValues(t, len(landscape.Kinds)+ours+1, asked.Load())
	assert.True(t, found.may("Context", "mine"), "that there is none is known, too")
	assert.True(t, found.may("Target", "mine"))
	assert.False(t, found.may("Target", "theirs"))
	assert.False(t, found.may("Lease", "mine"), "those elsewhere would be taken for dead deployers")
}

// tenant creates a landscape in a namespace, all of which is named by a word, and a viewer of that name who may list what is in the namespace.
func tenant(t *testing.T, c client.Client, namespace, word string) {
	t.Helper()
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: word + "-" + name}
	}
	blueprint := v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"x"}`))}}
	base, web := &v1alpha1.Installation{ObjectMeta: named("base")}, &v1alpha1.Installation{ObjectMeta: named("web")}
	base.Spec.Blueprint, web.Spec.Blueprint = blueprint, blueprint
	base.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "url", DataRef: word + "-url"}}
	web.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "url", DataRef: word + "-url"}}
	web.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: word + "-cluster"}}
	target := &v1alpha1.Target{ObjectMeta: named("cluster")}
	target.Spec.Type = "landscaper.gardener.cloud/kubernetes-cluster"
	for _, object := range []client.Object{base, web, target} {
		require.NoError(t, c.Create(t.Context(), object))
	}
	execution, item := &v1alpha1.Execution{ObjectMeta: named("base")}, &v1alpha1.DeployItem{ObjectMeta: named("item")}
	item.Spec.Type = "landscaper.gardener.cloud/helm"
	require.NoError(t, controllerutil.SetControllerReference(base, execution, c.Scheme()))
	require.NoError(t, c.Create(t.Context(), execution))
	require.NoError(t, controllerutil.SetControllerReference(execution, item, c.Scheme()))
	require.NoError(t, c.Create(t.Context(), item))
	for _, object := range []client.Object{item, execution, base, web} {
		fail(t, c, object, word+" has failed")
	}
	require.NoError(t, c.Create(t.Context(), &corev1.Event{
		ObjectMeta: named("event"), Reason: "JobStarted", Message: word + " has started",
		InvolvedObject: corev1.ObjectReference{Kind: "Installation", Namespace: namespace, Name: base.Name, UID: base.UID},
	}))
	role := &rbacv1.Role{ObjectMeta: named("viewer"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"list"}}, {APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.RoleBinding{ObjectMeta: named("viewer"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: word}}
	require.NoError(t, c.Create(t.Context(), role))
	require.NoError(t, c.Create(t.Context(), binding))
}

// fail gives an object the status of one that has failed.
func fail(t *testing.T, c client.Client, object client.Object, message string) {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	status := object.(interface{ Job() *v1alpha1.JobStatus }).Job()
	status.JobID, status.JobIDFinished, status.Phase = "1", "1", v1alpha1.PhaseFailed
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionFalse, Reason: "RenderFailed", Message: message})
	require.NoError(t, c.Status().Update(t.Context(), object))
}

// reader is a user with the rights of landscaper:ui, whose requests are noted but for the questions what viewers may list.
func reader(t *testing.T, cluster *platform.Cluster, name string, reviews, others *atomic.Int64) *clientrest.Config {
	t.Helper()
	rights, err := os.ReadFile("../../config/rbac/ui.yaml")
	require.NoError(t, err)
	require.NoError(t, cluster.ApplyYAML(t.Context(), string(rights)))
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "landscaper:ui"}}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}
	require.NoError(t, cluster.Client().Create(t.Context(), binding))
	t.Cleanup(func() { _ = cluster.Client().Delete(context.Background(), binding) })
	config, err := cluster.NewUser(name)
	require.NoError(t, err)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
				reviews.Add(1)
			} else {
				others.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// awaitRights waits until the API server has learnt of a binding: it reads them from a cache.
func awaitRights(t *testing.T, c client.Client, user, group, resource, namespace string) {
	t.Helper()
	require.Eventually(t, func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource, Namespace: namespace},
		}}
		return c.Create(t.Context(), review) == nil && review.Status.Allowed
	}, time.Minute, 50*time.Millisecond)
}

// shared is a page on the real API server for the viewers of two namespaces.
type shared struct {
	*site
	reviews, others atomic.Int64
	words           [2]string // also the names of the viewers
	namespaces      [2]string
}

func newShared(t *testing.T) *shared {
	t.Helper()
	cluster := platform.Shared(t).Cluster
	c := cluster.Client()
	s := &shared{}
	for i, word := range []string{"yankee", "zulu"} {
		s.namespaces[i] = cluster.Namespace(t)
		s.words[i] = word + "-" + s.namespaces[i]
		tenant(t, c, s.namespaces[i], s.words[i])
		awaitRights(t, c, s.words[i], "", "events", s.namespaces[i])
	}
	user := "page-of-" + s.namespaces[0]
	config := reader(t, cluster, user, &s.reviews, &s.others)
	awaitRights(t, c, user, "", "events", "")
	own, err := client.New(config, client.Options{Scheme: c.Scheme()})
	require.NoError(t, err)
	snapshots, err := landscape.Watch(t.Context(), config, own, "")
	require.NoError(t, err)
	access := &Access{Hosts: []string{"127.0.0.1"}, Secret: secret, GroupHeaders: []string{"X-Remote-Group"}, Client: own}
	s.site = &site{T: t, client: c, address: start(t, &Server{Reader: own, Access: access}, snapshots)}
	return s
}

// TestEachViewerSeesWhatTheAPIServerLetsThemList: whatever a viewer asks for, nothing of the other namespace comes, not even its name. The search is a part
// of the page and looks through what the stream has brought.
func TestEachViewerSeesWhatTheAPIServerLetsThemList(t *testing.T) {
	s := newShared(t)
	streams := [2]func() (string, string){}
	for i, word := range s.words {
		namespace, others, elsewhere := s.namespaces[i], s.words[1-i], s.namespaces[1-i]
		isOwn := func(text string) {
			assert.NotContains(t, text, others)
			assert.NotContains(t, text, elsewhere)
		}
		viewer := s.behind(word)
		streams[i] = viewer.follow()
		_, text := streams[i]()
		isOwn(text)
		shown := viewer.landscape()
		var keys []string
		for _, node := range shown.Nodes {
			keys = append(keys, node.Key)
			for _, path := range []string{"/api/object?key=", "/api/events?key="} {
				status, text := viewer.get(path + url.QueryEscape(node.Key))
				assert.Equal(t, http.StatusOK, status, text)
				isOwn(text)
			}
		}
		prefix := namespace + "/" + word
		assert.ElementsMatch(t, []string{"Installation/" + prefix + "-base", "Installation/" + prefix + "-web", "Target/" + prefix + "-cluster"}, keys)
		assert.Equal(t, []Edge{{From: "Installation/" + prefix + "-base", To: "Installation/" + prefix + "-web", Kind: "data", Names: []string{word + "-url"}, Missing: true}}, shown.Edges)
		chain := viewer.detail("Installation/" + prefix + "-web").Why.Chain
		assert.Equal(t, "DeployItem "+word+"-item", chain[len(chain)-1].String())
		_, text = viewer.get("/api/events?key=" + url.QueryEscape("Installation/"+prefix+"-base"))
		assert.Contains(t, text, word+" has started")
		for _, name := range []string{"base", "nowhere"} { // what is hidden is as what does not exist
			for _, path := range []string{"/api/object?key=", "/api/events?key="} {
				status, text := viewer.get(path + url.QueryEscape("Installation/"+elsewhere+"/"+others+"-"+name))
				assert.Equal(t, http.StatusNotFound, status)
				assert.Equal(t, "there is no Installation "+others+"-"+name+" in what is shown\n", text)
			}
		}
	}
	for i, word := range s.words { // the other one's change comes first
		for _, k := range []int{1 - i, i} {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespaces[k], Name: s.words[k] + "-base"}}
			fail(t, s.client, inst, fmt.Sprintf("%s has changed %d", s.words[k], i))
		}
		for text := ""; !strings.Contains(text, fmt.Sprintf("%s has changed %d", word, i)); {
			_, text = streams[i]()
			assert.NotContains(t, text, s.words[1-i])
		}
	}
}

func TestWhoMayListAllSeesAll(t *testing.T) {
	s := newShared(t)

	shown := s.behind("root", "system:masters").landscape()

	seen := map[string]bool{}
	for _, node := range shown.Nodes {
		seen[node.Namespace] = true
	}
	assert.True(t, seen[s.namespaces[0]] && seen[s.namespaces[1]])
	assert.Empty(t, shown.Withheld)
}

func TestWhoMayListNothingSeesNothing(t *testing.T) {
	s := newShared(t)

	shown := s.behind("stranger").landscape()

	assert.Empty(t, shown.Nodes)
	assert.Empty(t, shown.Edges)
	assert.Contains(t, shown.Withheld, "Installation")
}

func TestRequestsDoNotGrowWithViewers(t *testing.T) {
	s := newShared(t)
	look := func() {
		for i, word := range s.words {
			viewer := s.behind(word)
			viewer.landscape()
			viewer.detail("Installation/" + s.namespaces[i] + "/" + word + "-web")
		}
	}
	began := time.Now()
	look()
	reviews, others := s.reviews.Load(), s.others.Load()
	const viewers = 20
	for range viewers {
		look()
	}

	assert.Less(t, s.others.Load()-others, int64(viewers), "watches that begin late are no more than kinds")
	again := reviews * int64(time.Since(began)/deniedFor) // on a very slow machine answers are no longer good
	assert.LessOrEqual(t, s.reviews.Load()-reviews, again, "an answer is good for all tabs of a viewer")
}
