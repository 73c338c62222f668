// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const (
	shop       = "example.com/shop"
	shopCharts = "charts/hello-world"
	chartMedia = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartOf is the archive of a chart whose ConfigMap says who it is.
func chartOf(t testing.TB, who string) []byte {
	return archive(t, "1.0.0", map[string]string{
		"templates/cm.yaml": strings.ReplaceAll(configMapTemplate, "{{ .Values.testData | quote }}", who),
	})
}

// resource is one resource of a component version.
func resource(name string, access config, more config) config {
	all := config{"name": name, "version": "1.0.0", "type": "helmChart", "relation": "external", "access": access}
	maps.Copy(all, more)
	return all
}

func blobDigest(content []byte) config {
	return config{"digest": digestSpec("genericBlobDigest/v1", digest.FromBytes(content))}
}

func digestSpec(normalisation string, d digest.Digest) config {
	return config{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": normalisation, "value": d.Encoded()}
}

// descriptor is a component descriptor in schema v2.
func descriptor(version string, resources ...config) config {
	return config{"meta": config{"schemaVersion": "v2"}, "component": config{
		"name": shop, "version": version, "provider": "acme", "sources": []any{}, "componentReferences": []any{}, "resources": resources,
		"repositoryContexts": []any{config{"type": "OCIRegistry", "baseUrl": "origin.example.com"}},
	}}
}

// publish pushes a component version into a repository of a registry.
func publish(t testing.TB, r *registry.Registry, base string, document config, blobs ...component.Content) {
	t.Helper()
	raw, err := json.Marshal(document)
	require.NoError(t, err)
	decoded, err := component.Decode(raw)
	require.NoError(t, err)
	image, err := component.Version{Descriptor: decoded, Blobs: blobs}.Image(component.SchemaV2)
	require.NoError(t, err)
	repository := base + "/component-descriptors/" + decoded.Name
	for _, blob := range append([]component.Content{image.Config}, image.Layers...) {
		r.PushBlob(t, repository, blob.MediaType, bytesOf(t, blob))
	}
	r.PushManifest(t, repository, component.Tag(decoded.Version), image.Manifest.MediaType, bytesOf(t, image.Manifest))
}

func bytesOf(t testing.TB, c component.Content) []byte {
	t.Helper()
	raw, err := io.ReadAll(c.Reader())
	require.NoError(t, err)
	return raw
}

// use makes a component repository that of the Context.
func (f *fixture) use(r *registry.Registry, base string) {
	f.Helper()
	f.context.Configuration.RepositoryContext = asJSON(f.T, repositoryOf(r, base))
}

func repositoryOf(r *registry.Registry, base string) config {
	return config{"type": "OCIRegistry", "baseUrl": r.URL(), "subPath": base}
}

func asJSON(t testing.TB, value any) *v1alpha1.AnyJSON {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	encoded := v1alpha1.NewAnyJSON(raw)
	return &encoded
}

// keyOf is what getResourceKey returns; JSON is YAML.
func keyOf(t testing.TB, version string, identity, more config) config {
	t.Helper()
	content := config{"component": config{"name": shop, "version": version}, "resource": identity}
	maps.Copy(content, more)
	raw, err := json.Marshal(content)
	require.NoError(t, err)
	return config{"chart": config{"resourceRef": base64.StdEncoding.EncodeToString(raw)}}
}

// requireChart checks who deployed the ConfigMap.
func (f *fixture) requireChart(who string) {
	f.Helper()
	assert.Equal(f, who, f.configMap("hello-world")["testData"])
}

func TestC26ChartOfAComponent(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	packed, other := chartOf(t, "right"), chartOf(t, "wrong")
	_, artifact := r.Push(t, shopCharts, "1.0.0", registry.Layer{MediaType: chartMedia, Content: string(packed)})
	r.Push(t, "parts/"+shopCharts, "1.0.0", registry.Layer{MediaType: chartMedia, Content: string(packed)})
	blob := component.NewContent(chartMedia, packed)
	web := newRepository(t, packed)
	pinned := config{"digest": digestSpec("ociArtifactDigest/v1", artifact)}
	wrongPin := config{"digest": digestSpec("ociArtifactDigest/v1", digest.FromBytes(other))}
	image := config{"type": "ociArtifact", "imageReference": r.Ref(shopCharts, "1.0.0")}
	local := config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}
	helm := config{"type": "helm/v1", "helmRepository": web.URL + "/charts", "helmChart": "hello-world", "version": "1.0.0"}
	file := config{"type": "wget", "url": web.URL + "/charts/files/hello-world.tgz", "mediaType": chartMedia}
	for name, tc := range map[string]struct {
		access, digest config
		problem        string
	}{
		"image":            {image, pinned, ""},
		"image without":    {image, nil, ""},
		"image, blob":      {image, blobDigest(packed), ""},
		"relative":         {config{"type": "relativeOciReference", "reference": shopCharts + ":1.0.0"}, nil, ""},
		"repository":       {helm, blobDigest(packed), ""},
		"local":            {local, blobDigest(packed), ""},
		"file":             {file, blobDigest(packed), ""},
		"other image":      {image, wrongPin, "not found"},
		"other layer":      {image, blobDigest(other), "publish the component version anew"},
		"other repository": {helm, blobDigest(other), "publish the component version anew"},
		"other local":      {local, blobDigest(other), "digest"},
		"other file":       {file, blobDigest(other), "digest"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			base := "components-" + f.namespace
			publish(t, r, base, descriptor("1.0.0", resource("chart", tc.access, tc.digest)), blob)
			if name == "relative" {
				base = "parts"
				publish(t, r, base, descriptor("1.0.0", resource("chart", tc.access, tc.digest)), blob)
			}
			f.use(r, base)
			f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, nil))
			_, err := f.ensure(f.deployer())
			if tc.problem == "" {
				require.NoError(t, err)
				f.requireChart("right")
				return
			}
			require.ErrorContains(t, err, tc.problem)
			require.ErrorContains(t, err, `resource "chart" of component example.com/shop:1.0.0`)
		})
	}
}

func TestC26ChartWithTheFirstMediaTypeOfHelm(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, artifact := r.Push(t, shopCharts, "1.0.0", registry.Layer{MediaType: "application/tar+gzip", Content: string(chartOf(t, "old"))})
	publish(t, r, "components", descriptor("1.0.0", resource("chart", config{"type": "ociRegistry", "imageReference": ref},
		config{"digest": digestSpec("ociArtifactDigest/v1", artifact)})))
	for name, chart := range map[string]config{"ref": {"chart": config{"ref": ref}}, "resourceRef": keyOf(t, "1.0.0", config{"name": "chart"}, nil)} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "components")
			f.configure(chart)
			f.succeed(f.deployer())
			f.requireChart("old")
		})
	}
}

func TestResourceWithExtraIdentity(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	var resources []config
	var blobs []component.Content
	for _, flavour := range []string{"small", "large"} {
		blob := component.NewContent(chartMedia, chartOf(t, flavour))
		blobs = append(blobs, blob)
		resources = append(resources, resource("chart",
			config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia},
			config{"extraIdentity": config{"flavour": flavour}}))
	}
	publish(t, r, "components", descriptor("1.0.0", resources...), blobs...)
	for _, flavour := range []string{"small", "large"} {
		f := newFixture(t)
		f.use(r, "components")
		f.configure(keyOf(t, "1.0.0", config{"name": "chart", "flavour": flavour}, nil))
		f.succeed(f.deployer())
		f.requireChart(flavour)
	}
}

// publishChart publishes version 1.0.0 with a chart beside the descriptor, which has its digest if it is sealed, and returns that digest.
func publishChart(t testing.TB, r *registry.Registry, packed []byte, sealed bool) config {
	t.Helper()
	blob, digest := component.NewContent(chartMedia, packed), blobDigest(packed)
	more := config{}
	if sealed {
		more = digest
	}
	local := config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}
	publish(t, r, "components", descriptor("1.0.0", resource("chart", local, more)), blob)
	return digest
}

func TestKeyWithTheDigestOfItsChart(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	signed, evil := chartOf(t, "signed"), chartOf(t, "evil")
	for name, tc := range map[string]struct {
		published []byte
		sealed    bool
		parts     []string
	}{
		"untouched":                    {signed, true, nil},
		"untouched, without digest":    {signed, false, nil},
		"replaced with its descriptor": {evil, true, []string{"chart.resourceRef", `resource "chart"`, shop + ":1.0.0", "publish a new version", digest.FromBytes(evil).Encoded()}},
		"replaced, digest taken out":   {evil, false, []string{"chart.resourceRef", `resource "chart"`, shop + ":1.0.0", digest.FromBytes(evil).Encoded()}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "components")
			publishChart(t, r, tc.published, tc.sealed)
			f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, blobDigest(signed)))
			_, err := f.ensure(f.deployer())
			if tc.parts == nil {
				require.NoError(t, err)
				f.requireChart("signed")
				return
			}
			for _, part := range append(tc.parts, digest.FromBytes(signed).Encoded()) {
				require.ErrorContains(t, err, part)
			}
			assert.True(t, protocol.IsUnrecoverable(err), err)
			assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
		})
	}
}

// The deployer may remember a descriptor from before the one that the key was made from.
func TestKeyThatIsNewerThanWhatIsRemembered(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	f := newFixture(t)
	f.use(r, "components")
	d := f.deployer()
	for _, who := range []string{"first", "second"} {
		f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, publishChart(t, r, chartOf(t, who), true)))
		f.newJob()
		f.succeed(d)
		f.requireChart(who)
	}
}

func TestKeyWithARepositoryOfItsOwn(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	blob := component.NewContent(chartMedia, chartOf(t, "elsewhere"))
	published := descriptor("1.0.0", resource("chart", config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}, nil))
	publish(t, r, "elsewhere", published, blob)
	published["component"].(config)["repositoryContexts"] = []any{repositoryOf(r, "elsewhere")}
	inline, err := json.Marshal(published)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		repository config
		problem    string
	}{
		"registry":                    {repositoryOf(r, "elsewhere"), ""},
		"written in the Installation": {config{"type": "inline", "fileSystem": config{component.DescriptorFile: string(inline)}}, ""},
		"inline without blobs":        {config{"type": "inline", "blobFs": config{}, "fileSystem": config{component.DescriptorFile: string(inline)}}, "blob"},
		"files of the deployer":       {config{"type": "CommonTransportFormat", "filePath": "/"}, "not enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "nowhere")
			f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, config{"repositoryContext": tc.repository}))
			_, err := f.ensure(f.deployer())
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				return
			}
			require.NoError(t, err)
			f.requireChart("elsewhere")
		})
	}
}

func TestUnusableResource(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	publish(t, r, "components", descriptor("1.0.0", resource("chart", config{"type": "s3", "bucketName": "a", "objectKey": "b"}, nil)))
	chart := config{"name": "chart"}
	for name, tc := range map[string]struct {
		chart         config
		unrecoverable bool
		parts         []string
	}{
		"no key":      {config{"chart": config{"resourceRef": "chart"}}, true, []string{"chart.resourceRef", "getResourceKey"}},
		"no version":  {keyOf(t, "2.0.0", chart, nil), false, []string{"chart.resourceRef", "example.com/shop:2.0.0", "check host"}},
		"no resource": {keyOf(t, "1.0.0", config{"name": "charts"}, nil), false, []string{`no resource with name "charts"`, "chart"}},
		"no content":  {keyOf(t, "1.0.0", chart, nil), true, []string{"s3", "publish the content as localBlob or ociArtifact"}},
		"old form":    {config{"chart": config{"fromResource": config{"resourceName": "chart"}}}, true, []string{"set ref or inline"}},
		"old ref":     {config{"chart": config{"fromResource": config{"resourceName": "chart", "ref": config{}}}}, true, []string{"fromResource.ref", "componentName"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "components")
			f.configure(tc.chart)
			_, err := f.ensure(f.deployer())
			require.Error(t, err)
			for _, part := range tc.parts {
				assert.Contains(t, err.Error(), part)
			}
			assert.Equal(t, tc.unrecoverable, protocol.IsUnrecoverable(err), err)
		})
	}
	t.Run("no repository", func(t *testing.T) {
		f := newFixture(t)
		f.configure(keyOf(t, "1.0.0", chart, nil))
		_, err := f.ensure(f.deployer())
		require.ErrorContains(t, err, "set repositoryContext")
		assert.True(t, protocol.IsUnrecoverable(err))
	})
}

func TestOldFormOfResources(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	for _, version := range []string{"1.0.0", "2.0.0"} {
		blob := component.NewContent(chartMedia, chartOf(t, version))
		local := config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}
		publish(t, r, "components", descriptor(version, resource("chart", config{"type": "ociArtifact", "imageReference": "a/b:c"}, config{"type": "ociImage"}),
			resource("chart", local, config{"type": "helm.io/chart", "extraIdentity": config{"kind": "chart"}})), blob)
	}
	ref := config{"componentName": shop, "version": "1.0.0"}
	overwrite := []v1alpha1.ComponentVersionOverwrite{{
		Source:       v1alpha1.ComponentVersionOverwriteReference{ComponentName: shop},
		Substitution: v1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"},
	}}
	inline := descriptor("1.0.0", resource("chart", config{"type": "ociArtifact", "imageReference": r.Ref(shopCharts, "1.0.0")}, config{"type": "helm"}))
	r.Push(t, shopCharts, "1.0.0", registry.Layer{MediaType: chartMedia, Content: string(chartOf(t, "inline"))})
	for name, tc := range map[string]struct {
		from       config
		overwrites []v1alpha1.ComponentVersionOverwrite
		want       string
	}{
		"by reference":    {config{"ref": ref}, nil, "1.0.0"},
		"with overwrites": {config{"ref": ref}, overwrite, "2.0.0"},
		"inline":          {config{"inline": inline}, overwrite, "inline"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "components")
			f.context.Overwrites = func(context.Context) ([]v1alpha1.ComponentVersionOverwrite, error) { return tc.overwrites, nil }
			from := config{"resourceName": "chart"}
			maps.Copy(from, tc.from)
			f.configure(config{"chart": config{"fromResource": from}})
			f.succeed(f.deployer())
			f.requireChart(tc.want)
		})
	}
}

// The overwrites led to what the key names; another pass could lead further.
func TestOverwritesAreNotAppliedToAKey(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	blob := component.NewContent(chartMedia, chartOf(t, "effective"))
	publish(t, r, "components", descriptor("1.0.0", resource("chart", config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}, nil)), blob)
	f := newFixture(t)
	f.use(r, "components")
	f.context.Overwrites = func(context.Context) ([]v1alpha1.ComponentVersionOverwrite, error) {
		return []v1alpha1.ComponentVersionOverwrite{{
			Source:       v1alpha1.ComponentVersionOverwriteReference{ComponentName: shop, Version: "1.0.0"},
			Substitution: v1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"},
		}}, nil
	}
	f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, nil))
	f.succeed(f.deployer())
	f.requireChart("effective")
}

// login of the private registries.
var login = registry.User{Name: "reader", Password: "hidden-password"}

func dockerConfig(t testing.TB, host string) []byte {
	t.Helper()
	raw, err := json.Marshal(config{"auths": config{host: config{"username": login.Name, "password": login.Password}}})
	require.NoError(t, err)
	return raw
}

// ocmConfig holds a login for a registry, if it has a name, and the authority of the registry, if it has one.
func ocmConfig(t testing.TB, r *registry.Registry, as registry.User) []byte {
	t.Helper()
	host, port, _ := strings.Cut(r.Host, ":")
	properties := config{}
	if as.Name != "" {
		properties["username"], properties["password"] = as.Name, as.Password
	}
	if len(r.CA) > 0 {
		properties["certificateAuthority"] = string(r.CA)
	}
	raw, err := json.Marshal(config{"type": "generic.config.ocm.software/v1", "configurations": []any{config{
		"type": "credentials.config.ocm.software", "consumers": []any{config{
			"identity":    config{"type": "OCIRegistry", "hostname": host, "port": port},
			"credentials": []any{config{"type": "Credentials", "properties": properties}},
		}},
	}}})
	require.NoError(t, err)
	return raw
}

func TestC12PrivateChartOfAPrivateComponent(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{login}, Token: true})
	r.Push(t, shopCharts, "1.0.0", registry.Layer{MediaType: chartMedia, Content: string(chartOf(t, "private"))})
	publish(t, r, "components", descriptor("1.0.0", resource("chart", config{"type": "ociArtifact", "imageReference": r.Ref(shopCharts, "1.0.0")}, nil)))
	for name, tc := range map[string]struct{ secret, ocm map[string][]byte }{
		"dockerconfigjson":    {map[string][]byte{".dockerconfigjson": dockerConfig(t, r.Host)}, nil},
		"ocmcredentialconfig": {map[string][]byte{".ocmcredentialconfig": ocmConfig(t, r, login)}, nil},
		"plain":               {map[string][]byte{"config.json": dockerConfig(t, r.Host)}, nil},
		"ocmConfig":           {nil, map[string][]byte{".ocmconfig": ocmConfig(t, r, login)}},
		"none":                {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.use(r, "components")
			f.context.PullSecrets, f.context.OCMConfig = map[string]map[string][]byte{"pull": tc.secret}, tc.ocm[".ocmconfig"]
			f.context.Configuration.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: "pull"}}
			for _, chart := range []config{keyOf(t, "1.0.0", config{"name": "chart"}, nil), {"chart": config{"ref": r.Ref(shopCharts, "1.0.0")}}} {
				f.configure(chart)
				f.newJob()
				_, err := f.ensure(f.deployer())
				if name != "none" {
					require.NoError(t, err)
					f.requireChart("private")
					continue
				}
				require.Error(t, err)
				assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorUnauthorized)
				assert.Contains(t, err.Error(), "registryPullSecrets")
			}
		})
	}
}

// A chart that one Context has loaded is not given to another that may not read it.
func TestCachedChartsAreBoundToCredentials(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{login}})
	blob := component.NewContent(chartMedia, chartOf(t, "private"))
	publish(t, r, "components", descriptor("1.0.0", resource("chart", config{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": chartMedia}, blobDigest(chartOf(t, "private")))), blob)
	f := newFixture(t)
	f.use(r, "components")
	f.configure(keyOf(t, "1.0.0", config{"name": "chart"}, nil))
	f.item.Annotations = map[string]string{v1alpha1.CacheHelmChartsAnnotation: "true"}
	d := f.deployer()
	f.context.OCMConfig = ocmConfig(t, r, login)
	f.succeed(d)
	downloads := r.Count(http.MethodGet, "blobs")
	f.newJob()
	f.succeed(d)
	assert.Equal(t, downloads, r.Count(http.MethodGet, "blobs"))

	f.context.OCMConfig = nil
	f.newJob()
	_, err := f.ensure(d)
	require.Error(t, err)
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorUnauthorized)
}

// privateRegistry demands TLS and a login, and has one chart.
func privateRegistry(t testing.TB) (*registry.Registry, string) {
	r := registry.Start(t, registry.Options{TLS: true, Users: []registry.User{login}})
	ref, _ := r.Push(t, shopCharts, "1.0.0", registry.Layer{MediaType: chartMedia, Content: string(chartOf(t, "private"))})
	return r, ref
}

func TestB806PrivateRegistryIsDeniedWithoutCredentials(t *testing.T) {
	r, ref := privateRegistry(t)
	for name, as := range map[string]registry.User{"no login": {}, "wrong login": {Name: login.Name, Password: "wrong-password"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.pull(ocmConfig(t, r, as))
			f.serve()
			f.createItem(config{"chart": config{"ref": ref}}, 30*time.Second)
			f.request()
			status := f.finish()
			assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
			assert.Contains(t, status.LastError.Codes, v1alpha1.ErrorUnauthorized)
			for _, part := range []string{ref, "registryPullSecrets"} {
				assert.Contains(t, status.LastError.Message, part)
			}
			assert.NotContains(t, status.LastError.Message, "wrong-password")
		})
	}
}

func TestB807PrivateRegistryWithCredentials(t *testing.T) {
	r, ref := privateRegistry(t)
	f := newFixture(t)
	f.pull(ocmConfig(t, r, login))
	f.serve()
	f.createItem(config{"chart": config{"ref": ref}}, 30*time.Second)
	f.request()
	status := f.finish()
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase, status.LastError)
	f.requireChart("private")
}

// pull makes serve create a Context with a pull secret that holds an OCM credential configuration.
func (f *fixture) pull(ocm []byte) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: f.meta("pull"), Data: map[string][]byte{".ocmcredentialconfig": ocm}}
	require.NoError(f, f.platform.Client().Create(f.ctx, secret))
	f.context.Configuration.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: "pull"}}
}

// waitsForSource checks that the item waits for the source "hello", and that this is no error.
func (f *fixture) waitsForSource() {
	f.Helper()
	require.NoError(f, f.platform.Await(f.ctx, f.item, func() bool {
		for _, condition := range f.item.Status.Conditions {
			if condition.Type == "Ready" && strings.Contains(condition.Message, "OCIRepository "+f.namespace+"/hello") {
				return true
			}
		}
		return false
	}))
	assert.Nil(f, f.item.Status.LastError)
}

func TestItemWaitsForTheSourceOfItsComponent(t *testing.T) {
	f := newFixture(t)
	f.serve()
	f.createItem(keyOf(t, "1.0.0", config{"name": "chart"}, config{"repositoryContext": config{
		"type": "fluxSource", "sourceRef": config{"kind": "OCIRepository", "name": "hello"},
	}}), testTimeout)
	f.request()
	f.waitsForSource()

	ref := f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	_, err := f.platform.Registry.PushFluxArtifact(f.ctx, f.namespace+"/component", "1.0.0", servers.Files(map[string]string{
		"component-descriptor.yaml": `meta: {schemaVersion: v2}
component:
  name: ` + shop + `
  version: 1.0.0
  provider: example.com
  repositoryContexts: []
  sources: []
  componentReferences: []
  resources:
  - {name: chart, version: 1.0.0, type: helmChart, relation: external, access: {type: ociArtifact, imageReference: "http://` + ref + `"}}
`,
	}))
	require.NoError(t, err)
	require.NoError(t, f.platform.ApplyYAML(f.ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: hello, namespace: %s}
spec: {interval: 1h, insecure: true, url: %q, ref: {tag: 1.0.0}}
`, f.namespace, f.platform.Registry.URL(f.namespace+"/component"))))
	status := f.finish()
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase, status.LastError)
	require.Len(t, status.Sources, 1)
	assert.Equal(t, []string{"OCIRepository", f.namespace, "hello"}, []string{status.Sources[0].Kind, status.Sources[0].Namespace, status.Sources[0].Name})
	assert.Contains(t, status.Sources[0].Revision, "1.0.0@sha256:")
	assert.NotEmpty(t, status.Sources[0].Digest)

	f.configure(config{"chart": config{"ref": ref}})
	direct := f.item.Spec.Configuration
	f.edit(func() { f.item.Spec.Configuration = direct })
	f.request()
	status = f.finish()
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase, status.LastError)
	assert.Empty(t, status.Sources, "this chart comes from no source")
}

func TestItemWaitsForItsSourceByWatch(t *testing.T) {
	f := newFixture(t)
	f.serve()
	f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	f.createItem(config{"chart": sourceOf("OCIRepository", "hello", ""), "values": config{"testData": "late"}}, testTimeout)
	f.request()
	f.waitsForSource()
	require.NoError(t, f.platform.ApplyYAML(f.ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: hello, namespace: %s}
spec:
  interval: 1h
  insecure: true
  url: %q
  ref: {tag: 1.0.0}
  layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}
`, f.namespace, f.platform.Registry.URL(f.namespace+"/hello-world"))))
	status := f.finish()
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase, status.LastError)
	assert.Equal(t, "late", f.configMap("hello-world")["testData"])
}

func TestContextCanRequireVerifiedSources(t *testing.T) {
	f := newFixture(t)
	f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	f.deploySource(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: hello, namespace: %[1]s}
spec: {interval: 1h, insecure: true, url: "`+f.platform.Registry.URL(f.namespace+"/hello-world")+`", ref: {tag: 1.0.0}}
`, &sourcev1.OCIRepository{ObjectMeta: f.meta("hello")}, sourceOf("OCIRepository", "hello", ""))
	f.context.Configuration.RequireVerifiedSources = true
	f.newJob()
	_, err := f.ensure(f.deployer())
	require.ErrorContains(t, err, "spec.verify")
}
