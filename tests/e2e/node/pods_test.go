// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

func TestADeploymentBecomesAvailable(t *testing.T) {
	r := newRig(t)
	labels := map[string]string{"app": "sleeper"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeper", Namespace: r.namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](0),
					Containers:                    []corev1.Container{{Name: "main", Image: r.shell(), Command: []string{"sleep", "3600"}}},
				},
			},
		},
	}
	require.NoError(t, r.Client().Create(r.ctx, deployment))

	err := r.Await(r.ctx, deployment, func() bool { return deployment.Status.AvailableReplicas == 2 })

	require.NoError(t, err)
}

func TestAnInitContainerSharesAVolume(t *testing.T) {
	r := newRig(t)
	image := r.shell()
	shared := []corev1.VolumeMount{{Name: "shared", MountPath: "/data"}}
	pod := r.pod("shares", image, "sh", "-c", "cat /data/word; stat -c '%u %g' /data/word; id -u")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsUser: ptr.To[int64](1000), RunAsGroup: ptr.To[int64](3000), FSGroup: ptr.To[int64](2000), RunAsNonRoot: ptr.To(true),
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "init", Image: image, Command: []string{"sh", "-c", "echo shared >/data/word"}, VolumeMounts: shared,
	}}
	pod.Spec.Containers[0].VolumeMounts = shared

	r.run(pod)

	r.prints(pod, "shared\n1000 2000\n1000\n")
}

func TestAPodReadsTheAPIServerWithItsToken(t *testing.T) {
	r := newRig(t)
	image, err := platform.ProgramImage(r.ctx, "./tests/e2e/node/cmd/reader")
	require.NoError(t, err)
	reference, err := r.Registry.PushImage(r.ctx, "reader", "1", image)
	require.NoError(t, err)
	require.NoError(t, r.Apply(r.ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting", Namespace: r.namespace}, Data: map[string]string{"word": "hello"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: r.namespace}},
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: r.namespace},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"greeting"}, Verbs: []string{"get"},
			}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reader", Namespace: r.namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: r.namespace}},
		}))
	pod := r.pod("reader", reference)
	pod.Spec.Containers[0].Args = []string{r.namespace, "greeting", "word"}
	pod.Spec.ServiceAccountName = "reader"

	r.run(pod)

	r.prints(pod, "hello\n")
}

func TestLogsAreReadThroughTheAPIServer(t *testing.T) {
	r := newRig(t)
	pod := r.pod("hello", r.shell(), "echo", "hello from the node")

	r.run(pod)

	r.prints(pod, "hello from the node\n")
}

func TestAnImageThatDoesNotExistIsSaidInTheStatus(t *testing.T) {
	r := newRig(t)
	reference := r.Registry.Host + "/nobody/pushed:this"
	pod := r.pod("missing", reference)
	require.NoError(t, r.Client().Create(r.ctx, pod))

	err := r.Await(r.ctx, pod, func() bool {
		statuses := pod.Status.ContainerStatuses
		return len(statuses) == 1 && statuses[0].State.Waiting != nil && statuses[0].State.Waiting.Reason == "ErrImagePull"
	})

	require.NoError(t, err)
	assert.Contains(t, pod.Status.ContainerStatuses[0].State.Waiting.Message, reference)
}

func TestAnImportedImageNeedsNoRegistry(t *testing.T) {
	r := newRig(t)
	image, err := platform.ShellImage()
	require.NoError(t, err)
	const reference = "images.example/shell:imported"
	require.NoError(t, r.Node().ImportImage(r.ctx, reference, image))
	pod := r.pod("imported", reference, "echo", "found")

	r.run(pod)

	r.prints(pod, "found\n")
}

func TestAPodReachesServersOfTheMachineOnLoopback(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served below")) }))
	t.Cleanup(server.Close)
	pod := r.pod("caller", r.shell(), "wget", "-q", "-O", "-", server.URL)

	r.run(pod)

	r.prints(pod, "served below")
}

// TestPodsKeepTheirWayWhenAnotherOneGoes looks at the address that a Pod sends to: of a bridge without one of its own it changes.
func TestPodsKeepTheirWayWhenAnotherOneGoes(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	pod := r.pod("neighbour", r.shell(), "sh", "-c", "wget -q -O - "+server.URL+" 2>/dev/null; awk 'NR == 2 {print $4}' /proc/net/arp")

	r.run(pod)

	r.prints(pod, "02:00:00:00:00:01\n")
}

func TestAPodReachesNothingElseOfTheMachine(t *testing.T) {
	r := newRig(t)
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("reached")) }))
	address := firstOutside(addresses)
	if address == "" {
		t.Skip("this machine has no address beside loopback")
	}
	require.NoError(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp4", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	server.Start()
	t.Cleanup(server.Close)
	answer, err := http.Get(server.URL)
	require.NoError(t, err, "the server must be there")
	require.NoError(t, answer.Body.Close())
	pod := r.pod("caller", r.shell(), "sh", "-c", "wget -T 5 -q -O - "+server.URL+" 2>/dev/null || echo refused")

	r.run(pod)

	r.prints(pod, "refused\n")
}

// firstOutside returns an IPv4 address of this machine that is not on loopback, or "".
func firstOutside(addresses []net.Addr) string {
	for _, address := range addresses {
		if at, ok := address.(*net.IPNet); ok && at.IP.To4() != nil && !at.IP.IsLoopback() {
			return at.IP.String()
		}
	}
	return ""
}

func TestAPodOutlivesItsKubelet(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	gate := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-goOn
	}))
	t.Cleanup(gate.Close)
	pod := r.pod("lasting", r.shell(), "sh", "-c", "wget -q -O /dev/null "+gate.URL+"; echo done")
	require.NoError(t, r.Client().Create(r.ctx, pod))
	<-began
	kubelet := r.Process(binaries.Kubelet)

	require.NoError(t, kubelet.Kill9())
	close(goOn)
	require.NoError(t, kubelet.Restart())

	require.NoError(t, r.Await(r.ctx, pod, func() bool { return pod.Status.Phase == corev1.PodSucceeded }))
	assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	r.prints(pod, "done\n")
}
