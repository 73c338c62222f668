// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

func TestWhatTheProgramLeavesIsNotTrusted(t *testing.T) {
	s, count := serve(t, func(o *Options) { o.MaxState = 2 << 20 }), 0
	for name, test := range map[string]struct{ script, message string }{
		"exports that lead elsewhere":       {`ln -s /etc/passwd "$EXPORTS_PATH"`, "the exports cannot be read"},
		"directory that leads elsewhere":    {`rmdir "$(dirname $EXPORTS_PATH)"; ln -s /etc "$(dirname $EXPORTS_PATH)"`, "the exports cannot be read"},
		"exports that are a pipe":           {`mkfifo "$EXPORTS_PATH"`, "the exports are no file"},
		"exports that are no map":           {`echo "[hunter2]" > "$EXPORTS_PATH"`, "the exports are not a map"},
		"exports that are no YAML":          {`echo "a: b: hunter2: [" > "$EXPORTS_PATH"`, "the file is not YAML"},
		"exports without end":               {`head -c 3000000 /dev/zero | tr '\0' 'a' > "$EXPORTS_PATH"`, "the exports have more than"},
		"link in the state":                 {`ln -s /etc/passwd "$STATE_PATH/link"`, "link is a symbolic link; keep only files and directories there"},
		"pipe in the state":                 {`mkfifo "$STATE_PATH/pipe"`, "pipe is a pipe"},
		"state that leads elsewhere":        {`rm -r "$STATE_PATH"; ln -s /etc "$STATE_PATH"`, "is not a directory"},
		"state that is larger than allowed": {`head -c 3000000 /dev/urandom > "$STATE_PATH/large"`, "the archive has more than 2097152 bytes"},
	} {
		count++
		called := fmt.Sprintf("item-%d", count)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, isOfState := s.in(t), strings.Contains(test.script, "STATE_PATH")
			item := s.item(called, script(test.script))
			if isOfState {
				item = s.item(called, script(`echo good > "$STATE_PATH/good"`))
				s.succeed(s.add(item))
				s.configure(item, script(test.script))
			} else {
				s.add(item)
			}

			s.fail(item, test.message)

			assert.NotContains(t, item.Status.LastError.Message, "hunter2")
			assert.NotContains(t, item.Status.LastError.Message, "root:")
			assert.Nil(t, item.Status.ExportReference)
			if isOfState {
				s.configure(item, script(`cp "$STATE_PATH/good" "$STATE_PATH/seen"; echo "good: $(cat $STATE_PATH/good)" > "$EXPORTS_PATH"`))
				s.succeed(item)
				assert.JSONEq(t, `{"good": "good"}`, s.exports(item), "the last good state stays")
			}
		})
	}
}

func TestTokenOfThePodIsNarrow(t *testing.T) {
	s := serve(t)
	item := s.create(script("sleep 300"))
	pod := s.awaitPod(item, corev1.PodRunning)
	n := namesOf(keyOf(item), s.options.Identity)
	own := s.as(pod.Spec.ServiceAccountName)
	secrets, ctx := own.CoreV1().Secrets(s.host), t.Context()

	for what, err := range map[string]error{
		"create any Secret": func() error {
			_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: n.export()}}, metav1.CreateOptions{})
			return err
		}(),
		"apply another Secret": func() error {
			_, err := secrets.Apply(ctx, corev1ac.Secret("other", s.host), metav1.ApplyOptions{FieldManager: "test"})
			return err
		}(),
		"read its input": func() error {
			_, err := secrets.Get(ctx, n.config(), metav1.GetOptions{})
			return err
		}(),
		"change its input": func() error {
			_, err := secrets.Apply(ctx, corev1ac.Secret(n.config(), s.host), metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		}(),
		"list Secrets": func() error {
			_, err := secrets.List(ctx, metav1.ListOptions{})
			return err
		}(),
		"list Pods": func() error {
			_, err := own.CoreV1().Pods(s.host).List(ctx, metav1.ListOptions{})
			return err
		}(),
		"delete its Pod": own.CoreV1().Pods(s.host).Delete(ctx, pod.Name, metav1.DeleteOptions{}),
	} {
		assert.True(t, apierrors.IsForbidden(err), "it may not %s: %v", what, err)
	}
	_, err := secrets.Apply(ctx, corev1ac.Secret(n.export(), s.host), metav1.ApplyOptions{FieldManager: "test"})
	assert.NoError(t, err)
}

// as returns a client with a token of a ServiceAccount of a Pod.
func (s *served) as(account string) *kubernetes.Clientset {
	s.t.Helper()
	clients, err := kubernetes.NewForConfig(s.p.RestConfig)
	require.NoError(s.t, err)
	token, err := clients.CoreV1().ServiceAccounts(s.host).CreateToken(s.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(s.t, err)
	config := rest.AnonymousClientConfig(s.p.RestConfig)
	config.BearerToken = token.Status.Token
	own, err := kubernetes.NewForConfig(config)
	require.NoError(s.t, err)
	return own
}

func TestSecretsOfAPodAreThoseOfItsItemWhateverTheySay(t *testing.T) {
	s := serve(t)
	const keep = `echo "who: $(cat $STATE_PATH/who)" > "$EXPORTS_PATH"`
	victim := s.add(s.item("victim", script(`echo victim > "$STATE_PATH/who"`)))
	thief := s.add(s.item("thief", script(`echo thief > "$STATE_PATH/who"`)))
	s.succeed(victim)
	s.succeed(thief)
	his, its := namesOf(keyOf(thief), s.options.Identity), namesOf(keyOf(victim), s.options.Identity)
	labels := its.labels()
	labels[sidecar.Type] = sidecar.TypeState
	forged := corev1ac.Secret(his.state(1)+"0", s.host).WithLabels(labels).WithAnnotations(map[string]string{
		sidecar.Item: keyOf(victim).String(), sidecar.UUID: "forged", sidecar.Num: "0", sidecar.Count: "1", sidecar.Sequence: "1000",
	})
	_, err := s.as(his.base).CoreV1().Secrets(s.host).Apply(t.Context(), forged, metav1.ApplyOptions{FieldManager: "thief", Force: true})
	require.NoError(t, err, "that much a token of the Pod may do")

	s.configure(victim, script(keep))
	s.succeed(victim)

	assert.JSONEq(t, `{"who": "victim"}`, s.exports(victim))
}

func TestObjectsOfOthersAreLeftAlone(t *testing.T) {
	s := serve(t)
	item := s.item("item", script("true"))
	n := namesOf(keyOf(item), s.options.Identity)
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: n.config()}, Data: map[string][]byte{"a": []byte("b")}}
	require.NoError(t, s.p.Client().Create(t.Context(), foreign))
	version := foreign.ResourceVersion
	s.add(item)
	s.fail(item, "Secret "+s.host+"/"+n.config()+" of the host cluster exists and does not belong to the DeployItem; remove it")
	s.remove(item)
	s.await(foreign, func() bool { return true })
	assert.Equal(t, version, foreign.ResourceVersion)
}

func TestItemsOfOneNameAreApart(t *testing.T) {
	s, other := serve(t), ""
	s.stop()
	other = s.p.Namespace(t)
	s.others = []string{other}
	s.start()
	mine := s.item("item", script(`echo mine > "$STATE_PATH/who"; echo "who: $(cat $STATE_PATH/who)" > "$EXPORTS_PATH"`))
	s.add(mine)
	s.succeed(mine)
	theirs := s.item("item", script(`[ ! -e "$STATE_PATH/who" ]; echo "who: theirs" > "$EXPORTS_PATH"`))
	theirs.Namespace = other
	s.add(theirs)
	s.succeed(theirs)
	assert.NotEqual(t, s.podName(mine), s.podName(theirs))
	require.NoError(t, s.p.Client().Delete(t.Context(), theirs))
	s.begin(theirs)
	require.NoError(t, s.p.AwaitGone(t.Context(), theirs))
	assert.NotEmpty(t, s.left()["Secret"], "the state of the other one stays")
	s.begin(mine)
	s.succeed(mine)
	assert.Equal(t, v1alpha1.PhaseSucceeded, mine.Status.Phase)
}
