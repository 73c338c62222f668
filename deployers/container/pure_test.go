// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestNamesOfItemsAreApart(t *testing.T) {
	long := strings.Repeat("long.", 40) + "name"
	seen := map[string]string{}
	for _, item := range []types.NamespacedName{
		{Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"}, {Namespace: "a", Name: "b.c"}, {Namespace: strings.Repeat("n", 63), Name: long},
		{Namespace: strings.Repeat("n", 63), Name: long + "2"}, {Namespace: "a", Name: "b"},
	} {
		for _, identity := range []string{"one", "two"} {
			n := namesOf(item, identity)
			for _, name := range []string{n.base, n.config(), n.target(), n.pull(), n.export(), n.content(0), n.state(1) + "0"} {
				assert.Empty(t, validation.IsDNS1123Subdomain(name), name)
				assert.True(t, n.has(name), name)
				assert.False(t, n.has(name+"-x") || n.has("x-"+name), name)
				owner := item.String() + identity
				if before, known := seen[name]; known {
					assert.Equal(t, before, owner, name)
				}
				seen[name] = owner
			}
			assert.Empty(t, validation.IsDNS1123Label(n.base), "the name of a Pod is its hostname")
			for key, value := range n.labels() {
				assert.Empty(t, validation.IsValidLabelValue(value), key)
			}
		}
	}
}

func itemWith(config string) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "item", Generation: 3}}
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(config)}
	return item
}

func TestConfigurationProblems(t *testing.T) {
	for config, message := range map[string]string{
		`{"image": 7}`: "spec.config: image: is a JSON number",
		`{"apiVersion": "x/v1", "kind": "ProviderConfiguration"}`:                "spec.config: apiVersion",
		`{"registryPullSecrets": [{"name": "a", "namespace": "other"}]}`:         "spec.config: registryPullSecrets[0].namespace: is not tenant",
		`{"registryPullSecrets": [{}]}`:                                          "spec.config: registryPullSecrets[0].name: is empty",
		`{"blueprint": {}}`:                                                      "spec.config: blueprint: set exactly one of",
		`{"blueprint": {"ref": {"resourceName": "a"}}}`:                          "spec.config: blueprint.ref: needs the component",
		`{"componentDescriptor": {"ref": {"componentName": "a"}, "inline": {}}}`: "spec.config: componentDescriptor: set exactly one of",
		`{"continuousReconcile": {"every": "1h", "cron": "* * * * *"}}`:          "spec.config: continuousReconcile: set exactly one",
		``: "spec.config is missing",
	} {
		t.Run(config, func(t *testing.T) {
			_, err := configurationOf(itemWith(config))
			assert.ErrorContains(t, err, message)
			assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
		})
	}
	_, err := configurationOf(itemWith(`{"registryPullSecrets": [{"name": "a", "namespace": "tenant"}, {"name": "b"}], "unknown": 1}`))
	assert.NoError(t, err)
}

// FuzzConfiguration makes Pods of whatever people write.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{
		`{"image": "a", "command": ["b"], "args": ["c"], "importValues": {"a": 1}}`, `{"registryPullSecrets": [{"name": "a", "namespace": "b"}]}`,
		`{"blueprint": {"inline": {"filesystem": {"a": "b"}}}}`, `{"image": "", "continuousReconcile": {"every": "1h"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		config, err := configurationOf(itemWith(string(raw)))
		if err != nil {
			return
		}
		pod := podOf(config)
		for _, secret := range config.RegistryPullSecrets {
			require.Contains(t, []string{"", "tenant"}, secret.Namespace)
		}
		require.Equal(t, "pods", pod.Namespace)
		require.False(t, *pod.Spec.AutomountServiceAccountToken)
		_, err = json.Marshal(pod)
		require.NoError(t, err)
	})
}

var emptyConfiguration containerv1alpha1.ProviderConfiguration

// podOf returns the Pod for a configuration, with a target, content in two pieces and a state.
func podOf(config *containerv1alpha1.ProviderConfiguration, adjust ...func(*Options)) *corev1.Pod {
	item := itemWith("{}")
	item.Status.JobID = "job"
	options := Options{Namespace: "pods", Identity: "test", Main: containerv1alpha1.ContainerSpec{Image: "default", Args: []string{"fallback"}},
		Init: containerv1alpha1.ContainerSpec{Image: "landscaper"}, Wait: containerv1alpha1.ContainerSpec{Image: "landscaper"},
		MaxState: DefaultMaxState, MaxShared: DefaultMaxShared}
	for _, change := range adjust {
		change(&options)
	}
	now := time.Now()
	return blueprintOfPod{
		run: &run{
			host: options.hostFor(keyOf(item)), item: &contract.Item{DeployItem: item, Deadline: now.Add(time.Hour)},
			operation: containerv1alpha1.OperationDelete, config: config,
		},
		hasTarget: true, hasLogins: true, content: []string{"content-0", "content-1"}, last: state{sequence: 4, secrets: []string{"state-0"}}, now: now,
	}.pod()
}

func TestPodOfAnItem(t *testing.T) {
	pod := podOf(&containerv1alpha1.ProviderConfiguration{Image: "user:1", Command: []string{"run"}})

	assert.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
	assert.Equal(t, int64(300), *pod.Spec.TerminationGracePeriodSeconds)
	assert.Equal(t, int64(3660), *pod.Spec.ActiveDeadlineSeconds)
	assert.Equal(t, []int64{1000, 3000, 2000}, []int64{*pod.Spec.SecurityContext.RunAsUser, *pod.Spec.SecurityContext.RunAsGroup, *pod.Spec.SecurityContext.FSGroup})
	assert.Equal(t, []string{sidecar.Finalizer}, pod.Finalizers)
	assert.Equal(t, "3", pod.Labels[sidecar.ItemGeneration])
	main := pod.Spec.Containers[0]
	assert.Equal(t, "user:1", main.Image)
	assert.Equal(t, []string{"run"}, main.Command)
	assert.Empty(t, main.Args)
	assert.Equal(t, []corev1.VolumeMount{{Name: "shared", MountPath: "/data/ls/shared"}}, main.VolumeMounts, "nothing else is mounted")
	assert.Equal(t, []string{"container-init"}, pod.Spec.InitContainers[0].Args)
	assert.Equal(t, []string{"container-wait"}, pod.Spec.Containers[1].Args)
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers[0]) {
		for _, mounted := range container.VolumeMounts {
			assert.NotEqual(t, tokenVolume, mounted.Name, "%s has no token", container.Name)
		}
	}
	assert.False(t, *pod.Spec.AutomountServiceAccountToken)
	token := slices.IndexFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool { return volume.Name == tokenVolume })
	require.GreaterOrEqual(t, token, 0)
	projection := pod.Spec.Volumes[token].Projected.Sources[0].ServiceAccountToken
	assert.Equal(t, int64(600), *projection.ExpirationSeconds, "the token of the container wait is short-lived")
}

// TestEnvironmentOfContainers holds what programs of users, and images made for Gardener Landscaper, find in their environment.
func TestEnvironmentOfContainers(t *testing.T) {
	of := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
	}
	all := []corev1.EnvVar{
		{Name: "IMPORTS_PATH", Value: "/data/ls/shared/imports/import.json"}, {Name: "EXPORTS_PATH", Value: "/data/ls/shared/exports/values"},
		{Name: "COMPONENT_DESCRIPTOR_PATH", Value: "/data/ls/shared/component_descriptor.json"},
		{Name: "TARGET_PATH", Value: "/data/ls/shared/targets/target.json"}, {Name: "CONTENT_PATH", Value: "/data/ls/shared/content"},
		{Name: "STATE_PATH", Value: "/data/ls/shared/state"},
		{Name: "POD_NAME", ValueFrom: of("metadata.name")}, {Name: "POD_NAMESPACE", ValueFrom: of("metadata.namespace")},
	}
	item := []corev1.EnvVar{{Name: "DEPLOY_ITEM_NAME", Value: "item"}, {Name: "DEPLOY_ITEM_NAMESPACE", Value: "tenant"}}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		t.Setenv(name, "http://user:password@proxy.example.com")
	}
	pod := podOf(&containerv1alpha1.ProviderConfiguration{})

	for _, container := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, variable := range container.Env {
			assert.NotContains(t, variable.Name, "PROXY", "%s: the login at a proxy is that of the deployer", container.Name)
		}
	}
	assert.ElementsMatch(t, append(slices.Clone(all), corev1.EnvVar{Name: "OPERATION", Value: "DELETE"}), pod.Spec.Containers[0].Env)
	assert.Subset(t, pod.Spec.Containers[1].Env, append(slices.Clone(all), item...), "of the container wait")
	paths := []corev1.EnvVar{{Name: "CONFIGURATION_PATH", Value: "/data/ls/internal/configuration.json"}}
	assert.Subset(t, pod.Spec.InitContainers[0].Env, slices.Concat(all, item, paths), "of the container init")
}

func TestThePodIsMadeAsTheOptionsSay(t *testing.T) {
	pod := podOf(&emptyConfiguration, func(o *Options) {
		o.Namespace, o.MaxShared, o.MaxState = "others", 5, 7
		o.Main = containerv1alpha1.ContainerSpec{Image: "default:2"}
		o.Init = containerv1alpha1.ContainerSpec{Image: "own:2", ImagePullPolicy: corev1.PullNever}
		o.Wait = containerv1alpha1.ContainerSpec{Image: "own:3", ImagePullPolicy: corev1.PullAlways}
	})

	assert.Equal(t, "others", pod.Namespace)
	assert.Equal(t, "default:2", pod.Spec.Containers[0].Image)
	prepares, stores := pod.Spec.InitContainers[0], pod.Spec.Containers[1]
	assert.Equal(t, []string{"own:2", "Never"}, []string{prepares.Image, string(prepares.ImagePullPolicy)})
	assert.Equal(t, []string{"own:3", "Always"}, []string{stores.Image, string(stores.ImagePullPolicy)})
	assert.Contains(t, stores.Env, corev1.EnvVar{Name: sidecar.StateBytes, Value: strconv.Itoa(7 * unpackedState)})
	shared := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == sharedVolume })
	assert.Equal(t, int64(5), pod.Spec.Volumes[shared].EmptyDir.SizeLimit.Value())
}

func TestItemWithoutImageRunsTheDefault(t *testing.T) {
	main := podOf(&containerv1alpha1.ProviderConfiguration{}).Spec.Containers[0]
	assert.Equal(t, "default", main.Image)
	assert.Equal(t, []string{"fallback"}, main.Args)
	main = podOf(&containerv1alpha1.ProviderConfiguration{Command: []string{"own"}}).Spec.Containers[0]
	assert.Equal(t, []string{"own"}, main.Command)
	assert.Empty(t, main.Args)
}

func waits(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ends(name string, code int32, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}
}

func runs(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func TestVerdicts(t *testing.T) {
	const at = "Pod pods/name"
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   verdict
	}{
		"nothing known": {corev1.PodStatus{}, verdict{message: "waiting for " + at + " to start"}},
		"creating": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waits("main", "ContainerCreating", "")}},
			verdict{message: "waiting for " + at + " to start"}},
		"running": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{runs("main"), runs("wait")}},
			verdict{message: at + " is running"}},
		"storing": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{ends("main", 0, "", ""), runs("wait")}},
			verdict{message: at + " stores state and exports"}},
		"succeeded": {corev1.PodStatus{Phase: corev1.PodSucceeded}, verdict{over: true, message: at + " has succeeded"}},
		"image of init": {corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{waits("init", "ImagePullBackOff", "back-off")}},
			verdict{over: true, failed: true, reason: "ImagePullBackOff", message: "container init of " + at + " cannot start: ImagePullBackOff: back-off"}},
		"image name": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waits("main", "InvalidImageName", "no name")}},
			verdict{over: true, failed: true, reason: "InvalidImageName", message: "container main of " + at + " cannot start: InvalidImageName: no name"}},
		"unschedulable": {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}},
			verdict{over: true, failed: true, reason: "Unschedulable", message: at + " cannot be scheduled: 0/3 nodes are available"}},
		"init failed": {corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{ends("init", 1, "Error", "no space")}},
			verdict{over: true, failed: true, reason: "InitContainerFailed", message: "container init of " + at + " ended with exit code 1: no space"}},
		"main failed": {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ends("main", 137, "OOMKilled", ""), ends("wait", 0, "", "")}},
			verdict{over: true, failed: true, reason: "MainContainerFailed", message: "container main of " + at + " ended with exit code 137 (OOMKilled)"}},
		"wait failed": {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ends("main", 0, "", ""), ends("wait", 1, "Error", "too large")}},
			verdict{over: true, failed: true, reason: "WaitContainerFailed", message: "container wait of " + at + " ended with exit code 1: too large"}},
		"evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on memory."},
			verdict{over: true, failed: true, reason: "Evicted", message: at + " failed: Evicted: The node was low on memory."}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, judge(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "pods", Name: "name"}, Status: test.status}))
		})
	}
}

func TestLongWordsKeepTheirEnd(t *testing.T) {
	text := brief(strings.Repeat("x", 5000) + "\nthe end\n")
	assert.LessOrEqual(t, len(text), maxWords+len("…"))
	assert.True(t, strings.HasSuffix(text, "the end"))
}

func piecesOf(run string, sequence, count int, nums ...int) stored {
	found := stored{}
	for _, num := range nums {
		name := fmt.Sprintf("%s-%d", run, num)
		found[name] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{sidecar.Type: sidecar.TypeState},
			Annotations: map[string]string{sidecar.UUID: run, sidecar.Num: strconv.Itoa(num), sidecar.Count: strconv.Itoa(count),
				sidecar.Sequence: strconv.Itoa(sequence)},
		}}
	}
	return found
}

func TestCompleteStates(t *testing.T) {
	all := func(s stored) []*metav1.PartialObjectMetadata { return s.ofType(sidecar.TypeState) }
	assert.Equal(t, state{sequence: 7, secrets: []string{"run-0", "run-1"}}, complete(all(piecesOf("run", 7, 2, 0, 1))))
	for name, pieces := range map[string]stored{
		"first missing": piecesOf("run", 7, 2, 1), "last missing": piecesOf("run", 7, 3, 0, 1), "too many": piecesOf("run", 7, 1, 0, 1),
		"no sequence": piecesOf("run", 0, 1, 0), "negative": piecesOf("run", 7, 1, -1),
	} {
		t.Run(name, func(t *testing.T) { assert.Zero(t, complete(all(pieces)).sequence) })
	}
}

func TestLoginsOfPullSecrets(t *testing.T) {
	for name, test := range map[string]struct {
		data    map[string][]byte
		hosts   int
		message string
	}{
		"docker config": {map[string][]byte{".dockerconfigjson": []byte(`{"auths": {"a": {}, "b": {}}}`)}, 2, ""},
		"older form":    {map[string][]byte{".dockercfg": []byte(`{"a": {}}`)}, 1, ""},
		"another kind":  {map[string][]byte{"token": []byte("x")}, 0, ""},
		"broken":        {map[string][]byte{".dockerconfigjson": []byte(`{"auths": "secret"}`)}, 0, "key .dockerconfigjson holds no Docker configuration; correct it"},
	} {
		t.Run(name, func(t *testing.T) {
			auths, err := authsOf(test.data)
			assert.Len(t, auths, test.hosts)
			if test.message == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, test.message)
		})
	}
}

func TestTheWholeTargetIsGivenAsItWasRead(t *testing.T) {
	const written = `{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "metadata": {"name": "a", "generateName": "a-", "namespace": "n",
"uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"l": "1"}, "annotations": {"a": "1"},
"finalizers": ["f"], "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "ou"}],
"managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "landscaper.gardener.cloud/v1alpha1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]},
"spec": {"type": "t", "config": {"k": "v"}}}`
	found := &v1alpha1.Target{}
	require.NoError(t, json.Unmarshal([]byte(written), found))
	found.TypeMeta = metav1.TypeMeta{} // as clients leave it

	document, err := documentOf(found, []byte("secret"))

	require.NoError(t, err)
	var got struct {
		Target  map[string]any
		Content string
	}
	require.NoError(t, json.Unmarshal(document, &got))
	assert.Equal(t, "secret", got.Content)
	delete(got.Target, "status") // a Target without one says so
	target, err := json.Marshal(got.Target)
	require.NoError(t, err)
	assert.JSONEq(t, written, string(target))
}

func TestWhetherExportsMayCarryACredential(t *testing.T) {
	const user = `users: [{name: a, user: {token: "0123456789abcdef"}}]`
	plain := "apiVersion: v1\nclusters: []\n" + user + "\n"
	folded := plain + "more: &a [" + strings.Repeat("a, ", 40) + "]\nagain: [" + strings.Repeat("*a, ", 40) + "]\n"
	for name, tc := range map[string]struct {
		export     any
		kubeconfig string
		want       bool
	}{
		"nothing of it":        {"https://here.example.com", plain, false},
		"a part of a text":     {"it is 0123456789abcdef then", plain, true},
		"a document in a text": {`{"deep": ["0123456789abcdef"]}`, plain, true},
		"a document not known": {folded, plain, true},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := json.Marshal(map[string]string{"kubeconfig": tc.kubeconfig})
			require.NoError(t, err)
			document, err := json.Marshal(resolvedTarget{Content: string(content)})
			require.NoError(t, err)
			assert.Equal(t, tc.want, carries(unfolded(map[string]any{"word": tc.export}, maxFolds), inTarget(document)))
		})
	}
}
