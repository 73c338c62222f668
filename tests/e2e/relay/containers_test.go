// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/archive"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// object is JSON.
type object = map[string]any

const job = "example.com/job"

// publish pushes a component with a blueprint into the private registry, and another that it refers to.
func (s *scene) publish(version string, files map[string]string) {
	s.t.Helper()
	blueprint := formats.NewContent("application/vnd.gardener.landscaper.blueprint.v1+tar+gzip", s.archived(files))
	s.pushComponent(object{"name": "example.com/base", "version": "1.0.0"})
	s.pushComponent(object{
		"name": job, "version": version,
		"componentReferences": []any{object{"name": "base", "componentName": "example.com/base", "version": "1.0.0"}},
		"resources": []any{object{
			"name": "blueprint", "version": version, "type": "landscaper.gardener.cloud/blueprint", "relation": "local",
			"access": object{"type": "localBlob", "mediaType": blueprint.MediaType, "localReference": blueprint.Digest.String()},
		}},
	}, blueprint)
}

func (s *scene) pushComponent(described object, blobs ...formats.Content) {
	s.t.Helper()
	whole := object{"provider": "example.com", "sources": []any{}, "componentReferences": []any{}, "resources": []any{}, "repositoryContexts": []any{}}
	for key, value := range described {
		whole[key] = value
	}
	raw, err := json.Marshal(object{"meta": object{"schemaVersion": "v2"}, "component": whole})
	require.NoError(s.t, err)
	decoded, err := component.Decode(raw)
	require.NoError(s.t, err)
	image, err := formats.Version{Descriptor: decoded, Blobs: blobs}.Image(component.SchemaV2)
	require.NoError(s.t, err)
	repository := "components/component-descriptors/" + decoded.Name
	for _, blob := range append([]formats.Content{image.Config}, image.Layers...) {
		s.registry.PushBlob(s.t, repository, blob.MediaType, s.bytes(blob))
	}
	s.registry.PushManifest(s.t, repository, component.Tag(decoded.Version), image.Manifest.MediaType, s.bytes(image.Manifest))
}

func (s *scene) bytes(content formats.Content) []byte {
	s.t.Helper()
	reader, err := content.Open()
	require.NoError(s.t, err)
	defer reader.Close()
	raw, err := io.ReadAll(reader)
	require.NoError(s.t, err)
	return raw
}

// archived packs files as a blueprint.
func (s *scene) archived(files map[string]string) []byte {
	s.t.Helper()
	packer := archive.NewPacker(archive.Limits{Bytes: 1 << 30, Packed: 1 << 30, Entries: 1 << 20})
	for name, content := range files {
		require.NoError(s.t, packer.AddFile(name, 0o644, []byte(content)))
	}
	packed, err := packer.Close()
	require.NoError(s.t, err)
	return packed
}

// container makes a container item of a version of the component, without a job.
func (s *scene) container(namespace, name, version string) *v1alpha1.DeployItem {
	s.t.Helper()
	return s.containerOf(namespace, name, s.ofJob(version))
}

// ofJob is the configuration of a container with a version of the component and its blueprint.
func (s *scene) ofJob(version string) object {
	return object{
		"componentDescriptor": s.reference(job, version), "blueprint": object{"ref": object{"resourceName": "blueprint"}},
		"registryPullSecrets": []any{object{"name": pullSecret}},
	}
}

// reference names a component of the private registry.
func (s *scene) reference(name, version string) object {
	return object{"ref": object{"componentName": name, "version": version, "repositoryContext": object{
		"type": "OCIRegistry", "baseUrl": s.registry.URL(), "subPath": "components",
	}}}
}

func (s *scene) containerOf(namespace, name string, config object) *v1alpha1.DeployItem {
	s.t.Helper()
	config["apiVersion"], config["kind"] = "container.deployer.landscaper.gardener.cloud/v1alpha1", "ProviderConfiguration"
	if config["image"] == nil {
		config["image"] = "registry.invalid/program:1"
	}
	raw, err := json.Marshal(config)
	require.NoError(s.t, err)
	item := &v1alpha1.DeployItem{ObjectMeta: meta(namespace, name), Spec: v1alpha1.DeployItemSpec{
		Type: v1alpha1.ContainerDeployItemType, Configuration: &runtime.RawExtension{Raw: raw},
	}}
	s.create(item)
	return item
}

// startContainers starts a container deployer with an account for a namespace. Its Pods wait for a node, in the namespace of the deployer.
func (s *scene) startContainers(account, namespace string, args ...string) {
	s.t.Helper()
	s.startDeployerOf("container", account, namespace, append([]string{"--host-kubeconfig=" + s.kubeconfig(account+"-host", s.hostToken(account)),
		"--host-namespace=" + s.home, "--sidecar-image=registry.invalid/landscaper:1"}, args...)...)
}

// hostToken is that of an account that may do everything in the namespace of the Pods, and nothing elsewhere.
func (s *scene) hostToken(account string) string {
	s.t.Helper()
	name := account + "-host"
	s.create(&corev1.ServiceAccount{ObjectMeta: meta(s.home, name)})
	s.bind(s.home, "cluster-admin", "ClusterRole", s.home, name)
	return s.token(s.home, name)
}

// given waits for the Pod of an item and returns the files that its containers get.
func (s *scene) given(item *v1alpha1.DeployItem) map[string]string {
	s.t.Helper()
	pod := &corev1.Pod{}
	require.Eventually(s.t, func() bool {
		pods := &corev1.PodList{}
		require.NoError(s.t, s.Client().List(s.ctx, pods, client.InNamespace(s.home)))
		for _, one := range pods.Items {
			if one.Annotations[layout.Item] == item.Namespace+"/"+item.Name {
				pod = &one
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond, "the item gets no Pod")
	assert.Empty(s.t, pod.Spec.ImagePullSecrets, "no login comes from the landscaper cluster")
	var packed bytes.Buffer
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != "supply" {
			continue
		}
		for _, piece := range volume.Projected.Sources {
			secret := &corev1.Secret{}
			require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: s.home, Name: piece.Secret.Name}, secret))
			packed.Write(secret.Data[piece.Secret.Items[0].Key])
		}
	}
	return s.unpacked(&packed)
}

// unpacked returns the files of an archive.
func (s *scene) unpacked(packed io.Reader) map[string]string {
	s.t.Helper()
	dir := s.t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(s.t, err)
	defer root.Close()
	require.NoError(s.t, archive.Unpack(packed, root, archive.Limits{Bytes: 1 << 30, Packed: 1 << 30, Entries: 1 << 20}))
	files := map[string]string{}
	require.NoError(s.t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(raw)
		return err
	}))
	return files
}

// namesIn returns the components of a list of descriptors.
func (s *scene) namesIn(list string) []string {
	s.t.Helper()
	var all struct {
		Components []struct {
			Component struct{ Name, Version string }
		}
	}
	require.NoError(s.t, json.Unmarshal([]byte(list), &all))
	var names []string
	for _, one := range all.Components {
		names = append(names, one.Component.Name+":"+one.Component.Version)
	}
	return names
}

func TestAContainerGetsComponentsAndBlueprintThroughTheRelay(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint", "deep/text": "hello"})
	item := s.container(s.tenant, "job", "1.0.0")
	s.startContainers("east", s.tenant)

	s.run(item)

	files := s.given(item)
	assert.ElementsMatch(t, []string{job + ":1.0.0", "example.com/base:1.0.0"}, s.namesIn(files["component_descriptor.json"]))
	assert.Equal(t, "kind: Blueprint", files["content/blueprint.yaml"])
	assert.Equal(t, "hello", files["content/deep/text"])
	assert.Len(t, files, 3)
}

func TestAContainerWaitsForTheRelay(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	item := s.container(s.tenant, "job", "1.0.0")
	s.startContainers("east", s.tenant)
	require.NoError(t, s.relay.Kill9())

	s.run(item)
	s.until(item, func() bool { return strings.Contains(conditions.GetMessage(item, "Ready"), "content relay") })
	assert.Empty(t, item.Status.JobIDFinished, "it waits as for a registry that is not reached")

	require.NoError(t, s.relay.Restart())
	assert.Equal(t, "kind: Blueprint", s.given(item)["content/blueprint.yaml"])
}

// held are requests that a registry does not answer until release is closed.
type held struct {
	asked   chan struct{}
	release chan struct{}
	now     atomic.Int32
}

// holdBlobs makes the registry keep back what lies in repositories whose names have a word.
func (s *scene) holdBlobs(word string) *held {
	h := &held{asked: make(chan struct{}, 64), release: make(chan struct{})}
	s.registry.Break(func(_ *registry.Registry, _ http.ResponseWriter, request *http.Request) bool {
		if strings.Contains(request.URL.Path, "/blobs/") && strings.Contains(request.URL.Path, word) {
			h.now.Add(1)
			defer h.now.Add(-1)
			h.asked <- struct{}{}
			select {
			case <-h.release:
			case <-request.Context().Done():
			}
		}
		return false
	})
	return h
}

// awaited waits until something was asked for so often.
func (s *scene) awaited(asked <-chan struct{}, times int) {
	s.t.Helper()
	for range times {
		select {
		case <-asked:
		case <-time.After(patience):
			require.Fail(s.t, "nobody asks")
		}
	}
}

func TestTheRelayMayDieWhileItGetsAComponent(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	item := s.container(s.tenant, "job", "1.0.0")
	held := s.holdBlobs("components")
	s.startContainers("east", s.tenant)

	s.run(item)
	s.awaited(held.asked, 1)
	require.NoError(t, s.relay.Kill9())
	close(held.release)
	require.NoError(t, s.relay.Restart())

	assert.Equal(t, "kind: Blueprint", s.given(item)["content/blueprint.yaml"])
}

func TestASlowRegistryHoldsUpItsOwnTenantOnly(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	other := s.Namespace(t)
	s.account("east", s.tenant)
	s.bindTenant("east", other)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	s.create(s.pullSecretOf(other, password), s.contextOf(other, pullSecret))
	held := s.holdBlobs("slow")
	s.t.Cleanup(func() { close(held.release) })
	s.startContainers("east", s.tenant+","+other)
	for _, name := range strings.Split("abcdefghij", "") { // more than one deployer may ask for at a time
		s.pushComponent(object{"name": "example.com/slow-" + name, "version": "1.0.0"})
		s.run(s.containerOf(s.tenant, name, object{"componentDescriptor": s.reference("example.com/slow-"+name, "1.0.0")}))
	}
	s.awaited(held.asked, 2)

	item := s.container(other, "job", "1.0.0")
	s.run(item)

	assert.Equal(t, "kind: Blueprint", s.given(item)["content/blueprint.yaml"])
	assert.LessOrEqual(t, held.now.Load(), int32(2), "half of what the deployer may ask for is left to others")
}

func TestContentOverTheLimitEndsTheJob(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	noise := make([]byte, relay.MaxArchive+1<<20) // which no compression makes smaller
	_, err := rand.Read(noise)
	require.NoError(t, err)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint", "noise": string(noise)})
	s.publish("1.0.1", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	item, fits := s.container(s.tenant, "large", "1.0.0"), s.container(s.tenant, "fits", "1.0.1")
	s.startContainers("east", s.tenant)

	job := s.run(item)

	s.until(item, func() bool { return item.Status.JobIDFinished == job })
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Equal(t, "ContentTooLarge", item.Status.LastError.Reason)
	s.run(fits)
	assert.NotEmpty(t, s.given(fits))
}

func TestContentWithAnotherDigestIsAskedForAgain(t *testing.T) {
	s := newScene(t)
	s.account("east", s.tenant)
	good := s.archived(map[string]string{"component_descriptor.json": "{}", "content/blueprint.yaml": "kind: Blueprint"})
	var asked atomic.Int32
	poser := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent := good
		if asked.Add(1) < 3 {
			sent = s.archived(map[string]string{"component_descriptor.json": "{}", "content/blueprint.yaml": "kind: Other"})
		}
		w.Header().Set(relay.ServedBy, "v1")
		w.Header().Set("ETag", `"`+digest.FromBytes(good).String()+`"`)
		_, _ = w.Write(sent)
	}))
	listener, err := net.Listen("tcp", programs.RequireFreeAddress(t, reachable(t)))
	require.NoError(t, err)
	poser.Listener = listener
	poser.StartTLS()
	t.Cleanup(poser.Close)
	s.lead(listener.Addr().String())
	item := s.container(s.tenant, "job", "1.0.0")
	s.startContainers("east", s.tenant)

	s.run(item)

	assert.Equal(t, "kind: Blueprint", s.given(item)["content/blueprint.yaml"])
	assert.EqualValues(t, 3, asked.Load(), "nothing of the others was used")
}

func TestTheRelayReachesPublicAddressesOnlyWhereItIsTold(t *testing.T) {
	s := newScene(t)
	s.startRelay("--no-private-networks")
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	ref := s.push("1.0.0", "first")
	s.registry.Forget()
	token := s.token(s.home, "east", relay.Audience)
	for name, asked := range map[string]relay.Asked{
		"chart":   relay.For(relay.KindChart, s.item(s.tenant, "hello", ref)),
		"content": relay.For(relay.KindContent, s.container(s.tenant, "job", "1.0.0")),
	} {
		t.Run(name, func(t *testing.T) {
			response := s.ask("east", token, asked)
			assert.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
			assert.Contains(t, s.body(response), "the address is not public")
		})
	}
	assert.Empty(t, s.registry.Requests())
}

func TestContentHasItsTimeToBeFound(t *testing.T) {
	s := newScene(t)
	s.startRelay("--content-timeout=1s")
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	item := s.container(s.tenant, "job", "1.0.0")
	held := s.holdBlobs("components")
	token := s.token(s.home, "east", relay.Audience)

	answers := func(status int, says string) func() bool {
		return func() bool { // a busy machine may need several times a second
			response := s.ask("east", token, relay.For(relay.KindContent, item))
			return response.StatusCode == status && strings.Contains(s.body(response), says)
		}
	}

	require.Eventually(t, answers(http.StatusUnprocessableEntity, "within 1s"), patience, 50*time.Millisecond)
	close(held.release)
	require.Eventually(t, answers(http.StatusOK, ""), patience, 50*time.Millisecond)
}

func TestARefusedLoginIsRepeatedToNobody(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	const wrong = "word-that-nobody-may-see"
	secret := s.pullSecretOf(s.tenant, wrong)
	require.NoError(t, s.Client().Update(s.ctx, secret))
	item := s.container(s.tenant, "job", "1.0.0")

	response := s.ask("east", s.token(s.home, "east", relay.Audience), relay.For(relay.KindContent, item))

	assert.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
	said := s.body(response)
	assert.Contains(t, said, "Unauthorized")
	assert.NotContains(t, said, wrong)
	assert.NotContains(t, s.relay.LogTail(10000), wrong)
}

func TestWhoMayNotReadAContainerItemLearnsNothing(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.account("west", s.Namespace(t))
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	item, chart := s.container(s.tenant, "job", "1.0.0"), s.item(s.tenant, "hello", s.push("1.0.0", "first"))
	east, west := s.token(s.home, "east", relay.Audience), s.token(s.home, "west", relay.Audience)
	for name, tc := range map[string]struct {
		token string
		asked relay.Asked
		want  int
	}{
		"its deployer":                     {east, relay.For(relay.KindContent, item), http.StatusOK},
		"another environment":              {west, relay.For(relay.KindContent, item), http.StatusForbidden},
		"its deployer, as if it were helm": {east, relay.For(relay.KindChart, item), http.StatusConflict},
		"its deployer, of a helm item":     {east, relay.For(relay.KindContent, chart), http.StatusConflict},
		"a token for the API server":       {s.token(s.home, "east"), relay.For(relay.KindContent, item), http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.ask("east", tc.token, tc.asked)
			assert.Equal(t, tc.want, response.StatusCode)
			if body := s.body(response); tc.want != http.StatusOK {
				assert.Empty(t, body)
			}
		})
	}
}

func TestContentHasTheDigestThatItSays(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint"})
	asked := relay.For(relay.KindContent, s.container(s.tenant, "job", "1.0.0"))
	token := s.token(s.home, "east", relay.Audience)

	first := s.ask("east", token, asked)

	packed := s.body(first)
	sum := digest.FromString(packed).String()
	assert.Equal(t, `"`+sum+`"`, first.Header.Get("ETag"))
	assert.Equal(t, "kind: Blueprint", s.unpacked(strings.NewReader(packed))["content/blueprint.yaml"])
	again := s.ask("east", token, asked)
	assert.Equal(t, first.Header.Get("ETag"), again.Header.Get("ETag"), "equal content gives equal archives")
	assert.Equal(t, packed, s.body(again))
}
