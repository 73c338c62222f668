// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package identities runs the controller, with the rights of flux/install/registry-identities, against a registry of AWS that accepts
// logins of its cloud only. Kubernetes, the tokens of ServiceAccounts and the registry are real; the cloud is one of tests/clouds.
package identities

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/clouds"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

const (
	// patience bounds every wait.
	patience = 3 * time.Minute
	region   = "eu-central-1"
	role     = "arn:aws:iam::123456789012:role/puller"
	// host is the registry.
	host = "123456789012.dkr.ecr." + region + ".amazonaws.com"
	user = "system:serviceaccount:ls-system:landscaper-controller"
)

// scene is the controller in a world with AWS, and a registry of that.
type scene struct {
	*platform.Platform
	t        *testing.T
	ctx      context.Context
	aws      *clouds.AWS
	registry *registry.Registry
	process  *programs.Process
	// log is the file with all that the controller wrote.
	log string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	s := &scene{Platform: platform.Shared(t), t: t, ctx: ctx}
	world, err := clouds.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(world.Close)
	s.aws = world.AWS(region, s.review)
	s.aws.Rotate(-time.Second)
	s.registry = registry.Start(t, registry.Options{Admits: func(name, password string) bool {
		return name == clouds.AWSUser && password == s.aws.Password()
	}})
	behind, err := url.Parse(s.registry.URL())
	require.NoError(t, err)
	world.Serve(host, httputil.NewSingleHostReverseProxy(behind))
	s.run(world.Environment(), s.install())
	return s
}

// review asks the API server, as a cloud asks the keys of the cluster.
func (s *scene) review(ctx context.Context, token, audience string) (string, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := s.Client().Create(ctx, review); err != nil {
		return "", err
	}
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, audience) {
		return "", errors.New(review.Status.Error)
	}
	return review.Status.User.Username, nil
}

// install applies the rights in flux/install with the component, and returns the arguments of the controller.
func (s *scene) install() (args []string) {
	s.t.Helper()
	dir := s.t.TempDir()
	module, err := filepath.Abs("../../..")
	require.NoError(s.t, err)
	install, err := filepath.Rel(dir, filepath.Join(module, "flux", "install"))
	require.NoError(s.t, err)
	content := "resources: [" + install + "]\ncomponents: [" + install + "/registry-identities]\n"
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(content), 0o600))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	require.NoError(s.t, err)
	for _, resource := range built.Resources() {
		fields, err := resource.Map()
		require.NoError(s.t, err)
		object := &unstructured.Unstructured{Object: fields}
		switch kind := object.GetKind(); {
		case kind == "Deployment":
			deployment := &appsv1.Deployment{}
			require.NoError(s.t, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, deployment))
			given := deployment.Spec.Template.Spec.Containers[0].Args
			gated := slices.Contains(given, "--feature-gates=ObjectLevelWorkloadIdentity=true")
			require.Equal(s.t, object.GetName() != "landscaper-manifest-deployer", gated, object.GetName())
			if object.GetName() == "landscaper-controller" {
				args = given
			}
		case kind != "CustomResourceDefinition":
			require.NoError(s.t, s.Apply(s.ctx, object), "%s %s", kind, object.GetName())
		}
	}
	require.Eventually(s.t, s.mayRequestTokens, patience, 20*time.Millisecond)
	return slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--events-addr") })
}

func (s *scene) mayRequestTokens() bool {
	what := authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}
	may, err := platform.May(s.ctx, s.Client(), user, what)
	return err == nil && may
}

// run starts the controller as its ServiceAccount.
func (s *scene) run(environment, args []string) {
	s.t.Helper()
	binary, err := binaries.BuildLandscaper(s.ctx)
	require.NoError(s.t, err)
	config, err := s.NewUser(user)
	require.NoError(s.t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.t, err)
	dir := s.t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	s.log = filepath.Join(dir, "controller.log")
	require.NoError(s.t, os.WriteFile(path, kubeconfig, 0o600))
	s.process, err = programs.Start(programs.Command{
		Name: "controller", Path: binary, Dir: dir,
		Args: append(args, "--metrics-addr=0", "--health-addr="+programs.RequireFreeAddress(s.t, programs.Loopback), "--log-level=debug", "--oci-cache-dir="+filepath.Join(dir, "cache")),
		Env:  append([]string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=ls-system"}, environment...),
	})
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("log of the controller:\n%s", s.process.LogTail(60))
		}
		require.NoError(s.t, s.process.Stop(patience))
	})
}

// restart ends the controller and starts it again: what it has in memory is gone, what it has on disk is not.
func (s *scene) restart() {
	s.t.Helper()
	require.NoError(s.t, s.process.Stop(patience))
	require.NoError(s.t, s.process.Restart())
}

// put applies an object of our API group.
func (s *scene) put(kind, namespace, name string, content map[string]any) {
	s.t.Helper()
	raw, err := json.Marshal(content)
	require.NoError(s.t, err)
	object := &unstructured.Unstructured{}
	require.NoError(s.t, json.Unmarshal(raw, &object.Object))
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetName(name)
	object.SetNamespace(namespace)
	require.NoError(s.t, s.Apply(s.ctx, object))
}

// await waits for a state of an Installation.
func (s *scene) await(namespace, name string, done func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	inst := &v1alpha1.Installation{}
	inst.Namespace, inst.Name = namespace, name
	require.NoError(s.t, s.Await(ctx, inst, func() bool { return done(inst) }), "%+v %+v", inst.Status.Phase, inst.Status.LastError)
	return inst
}

// publish puts a component with a text into the registry, past its door.
func (s *scene) publish(name, text string) {
	s.t.Helper()
	blob := component.NewContent("text/plain", []byte(text))
	d, err := component.Decode([]byte("meta: {schemaVersion: v2}\ncomponent: {name: " + name + ", version: 1.0.0, provider: acme, " +
		"repositoryContexts: [], sources: [], componentReferences: [], resources: [{name: text, version: 1.0.0, type: plainText, relation: local, " +
		"access: {type: localBlob, mediaType: text/plain, localReference: '" + blob.Digest.String() + "'}}]}"))
	require.NoError(s.t, err)
	image, err := component.Version{Descriptor: d, Blobs: []component.Content{blob}}.Image(component.SchemaV2)
	require.NoError(s.t, err)
	repository := strings.TrimPrefix(component.OCIRegistry{BaseURL: host + "/components"}.Repository(name), host+"/")
	for _, part := range append([]component.Content{image.Config}, image.Layers...) {
		s.registry.PushBlob(s.t, repository, part.MediaType, bytesOf(s.t, part))
	}
	s.registry.PushManifest(s.t, repository, "1.0.0", image.Manifest.MediaType, bytesOf(s.t, image.Manifest))
}

func bytesOf(t *testing.T, c component.Content) []byte {
	t.Helper()
	raw, err := io.ReadAll(c.Reader())
	require.NoError(t, err)
	return raw
}
