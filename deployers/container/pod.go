// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

// Users of all containers of a Pod.
const (
	runAsUser  int64 = 1000
	runAsGroup int64 = 3000
	fsGroup    int64 = 2000
)

const (
	// gracePeriod is how long a Pod may take to end, in seconds, when a person or a node ends it; quickly is how long it gets from the deployer.
	gracePeriod int64 = 300
	quickly     int64 = 1
	// tokenSeconds is how long a token of the wait container is valid; the kubelet renews it.
	tokenSeconds int64 = 600
	tokenPath          = "/var/run/secrets/kubernetes.io/serviceaccount" // #nosec G101 -- a path, the same in all Pods
	// readable lets the group of the volume read what comes from Secrets.
	readable int32 = 0o440
)

// Memory that a container beside the user's may take: it holds a packed state while that grows.
const (
	sidecarMemory int64 = 256 << 20
	packedCopies  int64 = 4
)

// Volumes of a Pod.
const (
	sharedVolume   = "shared"
	internalVolume = "internal"
	targetVolume   = "target"
	supplyVolume   = "supply"
	stateVolume    = "state"
	tokenVolume    = "token"
)

// blueprintOfPod is what a Pod is made from.
type blueprintOfPod struct {
	*run
	// hasTarget and hasLogins say which Secrets exist, content and state name those with the pieces.
	hasTarget, hasLogins bool
	// keptContent says that the content is that of an earlier job, whose sources are those of the item.
	keptContent bool
	content     []string
	sources     []v1alpha1.SourceStatus
	last        state
	// statePieces is how many Secrets the next state may take.
	statePieces int64
	now         time.Time
}

// pod returns the Pod of the job. It passes the Pod Security level "restricted".
func (b blueprintOfPod) pod() *corev1.Pod {
	r, o := b.run, b.options
	pod := &corev1.Pod{
		ObjectMeta: r.names.meta(o.Namespace, r.names.base, "pod", map[string]string{
			sidecar.Job: r.job(), sidecar.OperationAnnotation: string(r.operation), sidecar.Sequence: strconv.FormatInt(b.last.sequence+1, 10),
		}),
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(gracePeriod),
			ServiceAccountName: r.names.base, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: new(runAsUser), RunAsGroup: new(runAsGroup), FSGroup: new(fsGroup), RunAsNonRoot: new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{b.initContainer()},
			Containers:     []corev1.Container{b.mainContainer(), b.waitContainer()},
			Volumes:        b.volumes(),
		},
	}
	pod.Labels[sidecar.ItemGeneration] = strconv.FormatInt(r.item.DeployItem.Generation, 10)
	pod.Finalizers = []string{sidecar.Finalizer}
	if raw, err := json.Marshal(append([]v1alpha1.SourceStatus{}, b.sources...)); err == nil && !b.keptContent {
		pod.Annotations[sidecar.Sources] = string(raw)
	}
	if b.hasLogins {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: r.names.pull()}}
	}
	if deadline := r.item.Deadline; !deadline.IsZero() {
		pod.Spec.ActiveDeadlineSeconds = new(max(int64(deadline.Add(lateness).Sub(b.now).Seconds()), 1))
	}
	return pod
}

func (b blueprintOfPod) initContainer() corev1.Container {
	container := b.sidecar(sidecar.InitContainer, "container-init", b.options.Init)
	container.Env = append(container.Env, env(sidecar.ConfigurationPath, sidecar.Configuration), env(sidecar.TargetSourcePath, sidecar.TargetSource),
		env(sidecar.SupplyPath, sidecar.Supply), env(sidecar.StateSourcePath, sidecar.StateSource))
	container.VolumeMounts = append(container.VolumeMounts, mount(internalVolume, sidecar.Internal))
	if b.hasTarget {
		container.VolumeMounts = append(container.VolumeMounts, mount(targetVolume, sidecar.Targets))
	}
	if len(b.content) > 0 {
		container.VolumeMounts = append(container.VolumeMounts, mount(supplyVolume, sidecar.Supply))
	}
	if len(b.last.secrets) > 0 {
		container.VolumeMounts = append(container.VolumeMounts, mount(stateVolume, sidecar.StateSource))
	}
	return container
}

// mainContainer runs the user's image as it is.
func (b blueprintOfPod) mainContainer() corev1.Container {
	config, fallback := b.config, b.options.Main
	container := corev1.Container{
		Name: sidecar.MainContainer, Image: config.Image, Command: config.Command, Args: config.Args,
		ImagePullPolicy: fallback.ImagePullPolicy, Env: append(b.commonEnv(), env(sidecar.Operation, string(b.operation))),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          unprivileged(), VolumeMounts: []corev1.VolumeMount{sharedMount()},
	}
	if container.Image == "" {
		container.Image = fallback.Image
		if len(config.Command) == 0 && len(config.Args) == 0 {
			container.Command, container.Args = fallback.Command, fallback.Args
		}
	}
	return container
}

func (b blueprintOfPod) waitContainer() corev1.Container {
	r := b.run
	labels, _ := json.Marshal(r.names.labels()) // a map of texts
	container := b.sidecar(sidecar.WaitContainer, "container-wait", r.options.Wait)
	container.Env = append(container.Env,
		field(sidecar.PodUID, "metadata.uid"),
		env(sidecar.ExportSecret, r.names.export()), env(sidecar.StateSecrets, r.names.state(b.last.sequence+1)),
		env(sidecar.StateSequence, strconv.FormatInt(b.last.sequence+1, 10)), env(sidecar.ObjectLabels, string(labels)),
		env(sidecar.StateLimit, strconv.FormatInt(b.statePieces, 10)), env(sidecar.StateBytes, strconv.FormatInt(b.options.MaxState*unpackedState, 10)))
	container.VolumeMounts = append(container.VolumeMounts, mount(tokenVolume, tokenPath))
	return container
}

// sidecar is a container that runs a sub-command of this program.
func (b blueprintOfPod) sidecar(name, command string, spec containerv1alpha1.ContainerSpec) corev1.Container {
	container := corev1.Container{
		Name: name, Image: spec.Image, Command: spec.Command, Args: spec.Args, ImagePullPolicy: spec.ImagePullPolicy,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          unprivileged(), VolumeMounts: []corev1.VolumeMount{sharedMount()},
		Env: append(b.commonEnv(), env(sidecar.ItemName, b.names.item.Name), env(sidecar.ItemNamespace, b.names.item.Namespace)),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(
				sidecarMemory+packedCopies*b.options.MaxState, resource.BinarySI)},
		},
	}
	container.SecurityContext.ReadOnlyRootFilesystem = new(true)
	if len(container.Command) == 0 && len(container.Args) == 0 {
		container.Args = []string{command}
	}
	return container
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Privileged: new(false), RunAsNonRoot: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func sharedMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: sharedVolume, MountPath: sidecar.Shared}
}

func mount(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path, ReadOnly: true}
}

func env(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func (b blueprintOfPod) commonEnv() []corev1.EnvVar {
	return []corev1.EnvVar{
		env(sidecar.ImportsPath, sidecar.Imports), env(sidecar.ExportsPath, sidecar.Exports),
		env(sidecar.ComponentDescriptorPath, sidecar.ComponentDescriptor), env(sidecar.TargetPath, sidecar.Target),
		env(sidecar.ContentPath, sidecar.Content), env(sidecar.StatePath, sidecar.State),
		field(sidecar.PodName, "metadata.name"), field(sidecar.PodNamespace, "metadata.namespace"),
	}
}

func (b blueprintOfPod) volumes() []corev1.Volume {
	n := b.names
	volumes := []corev1.Volume{
		{Name: sharedVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(b.options.MaxShared, resource.BinarySI)}}},
		projected(internalVolume, secretFile(n.config(), sidecar.ConfigurationKey, sidecar.ConfigurationKey)),
		projected(tokenVolume, token()...),
	}
	if b.hasTarget {
		volumes = append(volumes, projected(targetVolume, secretFile(n.target(), sidecar.TargetKey, sidecar.TargetKey)))
	}
	if len(b.content) > 0 {
		volumes = append(volumes, projected(supplyVolume, pieces(b.content)...))
	}
	if len(b.last.secrets) > 0 {
		volumes = append(volumes, projected(stateVolume, pieces(b.last.secrets)...))
	}
	return volumes
}

func projected(name string, sources ...corev1.VolumeProjection) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources, DefaultMode: new(readable)}}}
}

func secretFile(secret, key, path string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Items: []corev1.KeyToPath{{Key: key, Path: path}},
	}}
}

// pieces names files so that their order is that of the pieces.
func pieces(secrets []string) []corev1.VolumeProjection {
	sources := make([]corev1.VolumeProjection, len(secrets))
	for i, secret := range secrets {
		sources[i] = secretFile(secret, sidecar.PieceKey, fmt.Sprintf("%05d", i))
	}
	return sources
}

// token is what a ServiceAccount needs to reach the API server.
func token() []corev1.VolumeProjection {
	return []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(tokenSeconds), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
		}}}},
	}
}
