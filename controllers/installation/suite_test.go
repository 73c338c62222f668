// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
	"github.com/flux-landscaper/flux-landscaper/tests/mortal"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// silent drops all events.
var silent = &record.FakeRecorder{}

// patience is how long a test waits for something that should happen at once, also on a busy machine.
const patience = time.Minute

// tick is how often to look where nothing can be watched.
const tick = 5 * time.Millisecond

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// stage is a namespace in which Reconcile runs on a real API server. The test plays whoever else there is: the controller of Executions, a
// person, Flux.
type stage struct {
	t         *testing.T
	ctx       context.Context
	client    client.WithWatch
	access    *rest.Config
	namespace string
	life      mortal.Life
	seen      *history
	stop      func()
	// meddle stands between the controller and its client; nil is nobody.
	meddle func(client.WithWatch) client.WithWatch
	// events takes the events; nil drops them.
	events record.EventRecorder
	// renderer is what the controller renders with; nil is its own.
	renderer *rendering.Renderer
	// strict refuses unknown keys.
	strict bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	p := platform.Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx, client: p.Client(), access: p.RestConfig, namespace: p.Namespace(t)}
	s.seen = s.watch()
	s.start()
	return s
}

// start runs the controller until the test ends or stop is called.
func (s *stage) start() {
	s.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(s.t, clientgoscheme.AddToScheme(scheme))
	require.NoError(s.t, v1alpha1.AddToScheme(scheme))
	yes := true
	mgr, err := ctrl.NewManager(s.access, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
		Cache: cache.Options{DefaultTransform: protocol.StripManagedFields, DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		NewClient: func(access *rest.Config, options client.Options) (client.Client, error) {
			options.Cache.DisableFor = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
			direct, err := client.NewWithWatch(access, options)
			if err == nil && s.meddle != nil {
				direct = s.meddle(direct)
			}
			return s.life.Client(direct), err
		},
	})
	require.NoError(s.t, err)
	reconciler := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: cmp.Or(s.events, record.EventRecorder(silent)), Now: time.Now,
		Inputs:  inputs.Reader{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Renderer: s.renderer},
		Metrics: runtimectrl.NewMetrics(mgr, metrics.NewRecorder(), v1alpha1.Finalizer),
		Backoff: queue.NewBackoff(10*time.Millisecond, time.Second), RefuseUnknownKeys: s.strict,
	}
	require.NoError(s.t, reconciler.SetupWithManager(s.ctx, mgr, 4))
	s.stop = platform.Run(s.ctx, s.t, mgr)
}

// object is JSON.
type object = map[string]any

// unmarshalBlueprint reads the blueprint in place of an Installation.
func unmarshalBlueprint(inst *v1alpha1.Installation, into *object) error {
	files := map[string]string{}
	if err := json.Unmarshal(inst.Spec.Blueprint.Inline.Filesystem.RawMessage, &files); err != nil {
		return err
	}
	return json.Unmarshal([]byte(files["blueprint.yaml"]), into)
}

// deploying are the deployExecutions of one item with a text in its configuration.
func deploying(text string) []any {
	return []any{object{"name": "default", "type": "GoTemplate", "template": "deployItems:\n" +
		"- name: item\n  type: example.com/none\n  config: {text: '" + text + "'}\n"}}
}

// leaf returns an Installation with one deploy item.
func (s *stage) leaf(name, text string) *v1alpha1.Installation {
	return &v1alpha1.Installation{
		ObjectMeta: s.named(name), Spec: v1alpha1.InstallationSpec{Blueprint: fixture.InlineBlueprint(object{"deployExecutions": deploying(text)})},
	}
}

func (s *stage) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: s.namespace}
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		require.NoError(s.t, s.client.Create(s.ctx, o))
	}
}

// edit changes an object, whatever else happens to it.
func edit[O client.Object](s *stage, o O, change func(O)) {
	s.t.Helper()
	require.NoError(s.t, platform.Edit(s.ctx, s.client, o, change))
}

// editStatus changes the status of an object, whatever else happens to it.
func editStatus[O client.Object](s *stage, o O, change func(O)) {
	s.t.Helper()
	require.NoError(s.t, platform.EditStatus(s.ctx, s.client, o, change))
}

// annotate sets an annotation, as kubectl does.
func (s *stage) annotate(name, annotation, value string) {
	s.t.Helper()
	edit(s, &v1alpha1.Installation{ObjectMeta: s.named(name)}, func(inst *v1alpha1.Installation) {
		metav1.SetMetaDataAnnotation(&inst.ObjectMeta, annotation, value)
	})
}

// until waits for a state of an object and returns that state.
func until[O client.Object](s *stage, o O, done func(O) bool) O {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		err := s.client.Get(s.ctx, client.ObjectKeyFromObject(o), o)
		return err == nil && done(o)
	}, patience, tick, "%T %s", o, o.GetName())
	return o
}

// installation waits for a state of an Installation.
func (s *stage) installation(name string, done func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	s.t.Helper()
	return until(s, &v1alpha1.Installation{ObjectMeta: s.named(name)}, done)
}

// ended waits until a job other than a former one has ended in a phase.
func (s *stage) ended(name, former string, phase v1alpha1.Phase) *v1alpha1.Installation {
	s.t.Helper()
	return s.installation(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && inst.Status.JobID != former && inst.Status.Phase == phase
	})
}

// execution waits until an Installation has handed its Execution a job other than a former one.
func (s *stage) execution(name, former string) *v1alpha1.Execution {
	s.t.Helper()
	return until(s, &v1alpha1.Execution{ObjectMeta: s.named(name)}, func(execution *v1alpha1.Execution) bool {
		return givenJob(execution) != former
	})
}

// givenJob returns the job that an Execution was given, by annotation with a new spec or by status.
func givenJob(execution *v1alpha1.Execution) string {
	if execution.Status.IsIdle() && execution.Generation != execution.Status.ObservedGeneration {
		return execution.Annotations[v1alpha1.JobAnnotation]
	}
	return execution.Status.JobID
}

// finish ends the job of an Execution, as its controller does, and returns the job.
func (s *stage) finish(execution *v1alpha1.Execution, phase v1alpha1.Phase) string {
	s.t.Helper()
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		job := givenJob(execution)
		execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = job, job, phase
		execution.Status.ObservedGeneration = execution.Generation
	})
	return execution.Status.JobID
}

// succeed lets the job of an Installation that follows a former one end well.
func (s *stage) succeed(name, former string) *v1alpha1.Installation {
	s.t.Helper()
	s.finish(s.execution(name, former), v1alpha1.PhaseSucceeded)
	return s.ended(name, former, v1alpha1.PhaseSucceeded)
}

// quiet waits until nothing in the namespace has changed for a while. It never returns in a loop that writes.
func (s *stage) quiet() {
	s.t.Helper()
	last := ""
	require.Eventually(s.t, func() bool {
		now := s.versions()
		still := now == last
		last = now
		return still
	}, patience, 1500*time.Millisecond, "the namespace stands still")
}

// versions returns names and versions of everything of ours in the namespace.
func (s *stage) versions() string {
	s.t.Helper()
	found := ""
	for _, list := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}, &corev1.SecretList{},
	} {
		require.NoError(s.t, s.client.List(s.ctx, list, client.InNamespace(s.namespace)))
		raw, err := json.Marshal(list)
		require.NoError(s.t, err)
		var objects struct {
			Items []metav1.PartialObjectMetadata
		}
		require.NoError(s.t, json.Unmarshal(raw, &objects))
		for _, o := range objects.Items {
			found += fmt.Sprintf("%T %s %s\n", list, o.Name, o.ResourceVersion)
		}
	}
	return found
}

// with returns a reconciler of a cluster with objects.
func with(t *testing.T, objects ...client.Object) *Reconciler {
	t.Helper()
	c := fixture.Cluster(t, relations.Index, objects...)
	r := &Reconciler{Client: c, Live: c, Recorder: silent, Inputs: inputs.Reader{Reader: c, Live: c}}
	r.setUp(c)
	return r
}
