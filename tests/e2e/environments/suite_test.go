// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package environments checks the loops of Environments and DeployerRegistrations together, on a real API server and with the rights of config/rbac.
package environments

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/environment"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/mortal"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// patience is how long a test waits for something that should happen at once, also on a busy machine.
const (
	patience = 5 * time.Minute
	tick     = 10 * time.Millisecond
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// stage is a namespace of the deployer management in which both loops run with the rights that config/rbac gives them. Environments and
// registrations are of no namespace, so one test runs at a time, and takes its own away. The test plays the agent and the controller of
// Installations.
type stage struct {
	t         *testing.T
	p         *platform.Platform
	ctx       context.Context
	client    client.WithWatch
	access    *rest.Config
	namespace string
	life      mortal.Life
	events    told
	tokenLife time.Duration
	// isolated says that Environments do not share a namespace.
	isolated bool
	// making is called before the loops create something; nil is nothing.
	making func(client.Object)
	// ahead is how far the clock of the loops of Environments is ahead, as a time.Duration.
	ahead atomic.Int64
	stop  func()
}

func newStage(t *testing.T, change ...func(*stage)) *stage {
	t.Helper()
	p := platform.Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	s := &stage{t: t, p: p, ctx: ctx, client: p.Client(), namespace: p.Namespace(t), events: told{record.NewFakeRecorder(1000)}}
	for _, c := range change {
		c(s)
	}
	s.access = s.grant()
	t.Cleanup(s.clear)
	s.start()
	return s
}

// grant returns the connection of a user with the rights of config/rbac.
func (s *stage) grant() *rest.Config {
	user := s.user()
	access, err := s.p.NewUser(user)
	require.NoError(s.t, err)
	for _, file := range []string{"controller", "deployer-management", "deployer", "deployer-helm", "deployer-container"} {
		manifests, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "rbac", file+".yaml"))
		require.NoError(s.t, err)
		require.NoError(s.t, s.p.ApplyYAML(s.ctx, string(manifests)))
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	for _, name := range []string{"landscaper:controller", "landscaper:deployer-management"} {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: user}, RoleRef: role(name), Subjects: subjects}
		require.NoError(s.t, s.client.Create(s.ctx, binding))
	}
	if !s.isolated {
		s.grantHome(s.namespace)
	}
	access.QPS = -1
	return access
}

// user is who the loops are at the API server.
func (s *stage) user() string { return "controller-of-" + s.namespace }

// grantHome lets the loops make ServiceAccounts of deployers in a namespace.
func (s *stage) grantHome(namespace string) {
	s.t.Helper()
	s.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "home", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "landscaper:deployer-management-home"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.user()}},
	})
}

// start runs both loops until the test ends or stop is called.
func (s *stage) start() {
	s.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(s.t, clientgoscheme.AddToScheme(scheme))
	require.NoError(s.t, v1alpha1.AddToScheme(scheme))
	yes := true
	made, err := labels.Parse(v1alpha1.DeployerRegistrationLabel)
	require.NoError(s.t, err)
	agents, err := labels.Parse(v1alpha1.DeployerEnvironmentLabel)
	require.NoError(s.t, err)
	mgr, err := ctrl.NewManager(s.access, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
		Cache: cache.Options{DefaultTransform: protocol.StripManagedFields, ByObject: map[client.Object]cache.ByObject{
			&corev1.ServiceAccount{}:     {Label: made},
			&rbacv1.ClusterRoleBinding{}: {Label: made},
			&rbacv1.RoleBinding{}:        {Label: made},
			&coordinationv1.Lease{}:      {Namespaces: map[string]cache.Config{s.namespace: {}, cache.AllNamespaces: {LabelSelector: agents}}},
		}},
		NewClient: func(access *rest.Config, options client.Options) (client.Client, error) {
			options.Cache.DisableFor = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
			direct, err := client.NewWithWatch(access, options)
			if err != nil {
				return nil, err
			}
			return s.life.Client(s.watched(direct)), nil
		},
	})
	require.NoError(s.t, err)
	environments := &environment.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: s.events, Homes: pair.Homes{Shared: s.namespace},
		Now:     func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
		Backoff: queue.NewBackoff(10*time.Millisecond, time.Second), TokenLife: s.tokenLife, Share: !s.isolated,
	}
	require.NoError(s.t, environments.SetupWithManager(mgr, 2))
	s.stop = platform.Run(s.ctx, s.t, mgr)
}

// watched is a client that tells what is about to be created.
func (s *stage) watched(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if s.making != nil {
				s.making(o)
			}
			return c.Create(ctx, o, options...)
		},
	})
}

// told keeps events with the objects that they are about.
type told struct{ *record.FakeRecorder }

// Eventf keeps an event.
func (r told) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	r.FakeRecorder.Eventf(about, kind, reason, "%T %s: "+format, withObject(about, args)...)
}

// AnnotatedEventf keeps an event, with its annotations at the end.
func (r told) AnnotatedEventf(about runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.FakeRecorder.AnnotatedEventf(about, annotations, kind, reason, "%T %s: "+format, withObject(about, args)...)
}

func withObject(about runtime.Object, args []any) []any {
	return append([]any{about, client.ObjectKeyFromObject(about.(client.Object))}, args...)
}

// clear takes away what the test has left, by force.
func (s *stage) clear() {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, list := range []client.ObjectList{
		&v1alpha1.EnvironmentList{}, &v1alpha1.DeployerRegistrationList{}, &v1alpha1.InstallationList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		var options []client.ListOption
		if _, isBinding := list.(*rbacv1.ClusterRoleBindingList); isBinding {
			options = append(options, client.HasLabels{v1alpha1.DeployerRegistrationLabel})
		}
		require.NoError(s.t, s.client.List(ctx, list, options...))
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			_ = s.client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			_ = s.client.Delete(ctx, object)
			return nil
		})
	}
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		require.NoError(s.t, s.client.Create(s.ctx, o))
	}
}

// env is an Environment as an agent describes it.
func (s *stage) env(name string, change ...func(*v1alpha1.Environment)) *v1alpha1.Environment {
	content, err := json.Marshal(map[string]any{"kubeconfig": map[string]any{
		"secretRef": map[string]any{"name": name + "-target-access", "namespace": "fence", "key": "kubeconfig"},
	}})
	require.NoError(s.t, err)
	host := v1alpha1.NewAnyJSON(content)
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.AgentFinalizer}}}
	env.Spec.HostTarget.Type, env.Spec.HostTarget.Configuration = v1alpha1.KubernetesClusterTargetType, &host
	env.Spec.HostTarget.Annotations = map[string]string{v1alpha1.DeployerOnlyAnnotation: "true"}
	env.Spec.Namespace = "fence"
	env.Spec.LandscaperClusterRestConfig = v1alpha1.ClusterRestConfig{Host: s.p.RestConfig.Host, CAData: s.p.RestConfig.CAData}
	for _, c := range change {
		c(env)
	}
	return env
}

// in limits an Environment to namespaces.
func in(namespaces ...string) func(*v1alpha1.Environment) {
	return func(env *v1alpha1.Environment) { env.Spec.Namespaces = append([]string{}, namespaces...) }
}

func deployer(name string, types ...string) *v1alpha1.DeployerRegistration {
	d := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	d.Spec.DeployItemTypes = types
	d.Spec.InstallationTemplate.Blueprint.Reference = &v1alpha1.BlueprintReference{ResourceName: name}
	d.Spec.InstallationTemplate.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{
		Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: "example.com/" + name, Version: "v1.0.0"},
	}
	d.Spec.InstallationTemplate.ImportDataMappings = map[string]v1alpha1.AnyJSON{"values": v1alpha1.NewAnyJSON([]byte(`{"a":1}`))}
	return d
}

func (s *stage) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// until waits for a state of an object and returns that state.
func until[O client.Object](s *stage, o O, done func(O) bool) O {
	s.t.Helper()
	ok := assert.Eventually(s.t, func() bool {
		return s.client.Get(s.ctx, client.ObjectKeyFromObject(o), o) == nil && done(o)
	}, patience, tick)
	if !ok {
		shown, _ := yaml.Marshal(o)
		require.FailNow(s.t, "not reached", "%T %s", o, shown)
	}
	return o
}

func (s *stage) gone(o client.Object) {
	s.t.Helper()
	require.NoError(s.t, s.p.AwaitGone(s.ctx, o))
}

// edit changes an object, whatever else happens to it.
func edit[O client.Object](s *stage, o O, change func(O)) {
	s.t.Helper()
	require.NoError(s.t, platform.Edit(s.ctx, s.client, o, change))
}

// triggered waits until all of a pair is there.
func (s *stage) triggered(name string) *v1alpha1.Installation {
	s.t.Helper()
	return until(s, &v1alpha1.Installation{ObjectMeta: s.named(name)}, func(i *v1alpha1.Installation) bool {
		return i.Annotations[v1alpha1.ReconcileIfChangedAnnotation] == "true"
	})
}

// succeed plays the controller of Installations: the job of one succeeds.
func (s *stage) succeed(name string) {
	s.t.Helper()
	installation := s.triggered(name)
	edit(s, installation, func(i *v1alpha1.Installation) { controllerutil.AddFinalizer(i, v1alpha1.Finalizer) })
	require.NoError(s.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.client.Get(s.ctx, client.ObjectKeyFromObject(installation), installation); err != nil {
			return err
		}
		installation.Status.JobID, installation.Status.JobIDFinished, installation.Status.Phase = "job", "job", v1alpha1.PhaseSucceeded
		installation.Status.ObservedGeneration = installation.Generation
		apimeta.SetStatusCondition(&installation.Status.Conditions, metav1.Condition{
			Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "ReconciliationSucceeded",
		})
		return s.client.Status().Update(s.ctx, installation)
	}))
}

// uninstall plays the controller of Installations: one in deletion is uninstalled.
func (s *stage) uninstall(name string) {
	s.t.Helper()
	installation := until(s, &v1alpha1.Installation{ObjectMeta: s.named(name)}, func(i *v1alpha1.Installation) bool {
		return !i.DeletionTimestamp.IsZero()
	})
	edit(s, installation, func(i *v1alpha1.Installation) { controllerutil.RemoveFinalizer(i, v1alpha1.Finalizer) })
}

// beat renews the Lease of an agent.
func (s *stage) beat(env string, seconds int32) {
	s.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: s.named(v1alpha1.AgentLeasePrefix + env)}
	lease.Annotations = map[string]string{v1alpha1.AgentVersionAnnotation: "v1.2.3"}
	lease.Spec.LeaseDurationSeconds = &seconds
	if err := s.client.Create(s.ctx, lease); err == nil {
		return
	}
	edit(s, lease, func(l *coordinationv1.Lease) {
		now := metav1.NewMicroTime(time.Unix(0, 0)) // the clock of the agent counts for nothing
		if l.Spec.RenewTime != nil {
			now = metav1.NewMicroTime(l.Spec.RenewTime.Add(time.Second))
		}
		l.Spec.RenewTime = &now
	})
}

// connected waits until the agent counts as connected, or does not.
func (s *stage) connected(env string, status metav1.ConditionStatus) *v1alpha1.Environment {
	s.t.Helper()
	return until(s, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: env}}, func(e *v1alpha1.Environment) bool {
		return apimeta.IsStatusConditionPresentAndEqual(e.Status.Conditions, v1alpha1.AgentConnectedCondition, status)
	})
}

// asDeployer returns a client with the token of a deployer, as the Target of the pair has it.
func (s *stage) asDeployer(name string) client.Client {
	s.t.Helper()
	access := rest.AnonymousClientConfig(s.p.RestConfig)
	access.BearerToken = s.token(name)
	c, err := client.New(access, client.Options{Scheme: s.client.Scheme(), Mapper: s.client.RESTMapper()})
	require.NoError(s.t, err)
	return c
}

// token returns the token in the Target of a pair.
func (s *stage) token(name string) string {
	s.t.Helper()
	target := &v1alpha1.Target{ObjectMeta: s.named(name)}
	require.NoError(s.t, s.client.Get(s.ctx, client.ObjectKeyFromObject(target), target))
	text := string(target.Spec.Configuration.RawMessage)
	_, after, found := strings.Cut(text, `token: `)
	require.True(s.t, found, "no token")
	token, _, _ := strings.Cut(after, `\n`)
	return token
}

// requireSteady checks that nothing is written while nothing changes.
func (s *stage) requireSteady() {
	s.t.Helper()
	last := -1
	require.Eventually(s.t, func() bool {
		before := last
		last = s.life.Writes()
		return last == before
	}, patience, time.Second)
	before := s.life.Writes()
	require.Never(s.t, func() bool { return s.life.Writes() != before }, 2*time.Second, 100*time.Millisecond, "something is written without end")
}
