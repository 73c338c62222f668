// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const (
	// waitingItems are many times more than a deployer has workers.
	waitingItems = 500
	// restTime is how long nothing may be asked for.
	restTime = 10 * time.Second
)

// neverReady is a Deployment that makes no Pods, and deployable something that is ready at once. NAME stands for the name.
const (
	neverReady = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "NAME"}, "spec": {"paused": true, "replicas": 1,
"selector": {"matchLabels": {"app": "NAME"}}, "template": {"metadata": {"labels": {"app": "NAME"}}, "spec": {"containers": [{"name": "main", "image": "none"}]}}}}`
	deployable = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "NAME"}}`
)

// manners are the ways to bring an object to a target: how each makes a DeployItem of a name that deploys it.
var manners = []struct {
	name string
	of   func(s *scene, name, manifest string) v1alpha1.DeployItemSpec
}{
	{"manifest", func(s *scene, name, manifest string) v1alpha1.DeployItemSpec {
		var content object
		require.NoError(s.T, json.Unmarshal([]byte(strings.ReplaceAll(manifest, "NAME", name)), &content))
		content["metadata"].(object)["namespace"] = s.Namespace
		return s.spec("kubernetes-manifest", object{
			"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
			"manifests": []any{object{"policy": "manage", "manifest": content}},
		})
	}},
	{"objects of a chart", func(s *scene, name, manifest string) v1alpha1.DeployItemSpec { return s.charted(name, manifest, false) }},
	{"release", func(s *scene, name, manifest string) v1alpha1.DeployItemSpec { return s.charted(name, manifest, true) }},
}

func (s *scene) charted(name, manifest string, isRelease bool) v1alpha1.DeployItemSpec {
	s.T.Helper()
	chart, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n", "templates/one.yaml": strings.ReplaceAll(manifest, "NAME", "{{ .Release.Name }}"),
	}))
	require.NoError(s.T, err)
	return s.spec("helm", object{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", "name": name, "namespace": s.Namespace,
		"helmDeployment": isRelease, "chart": object{"archive": object{"raw": base64.StdEncoding.EncodeToString(chart)}},
	})
}

func (s *scene) spec(itemType string, config object) v1alpha1.DeployItemSpec {
	s.T.Helper()
	raw, err := json.Marshal(config)
	require.NoError(s.T, err)
	return v1alpha1.DeployItemSpec{
		Type: "landscaper.gardener.cloud/" + itemType, Target: &v1alpha1.DeployItemTarget{Name: "cluster"},
		Timeout: &v1alpha1.Duration{Duration: time.Hour}, Configuration: &runtime.RawExtension{Raw: raw},
	}
}

// begin makes an item without Execution and gives it a job.
func (s *scene) begin(name string, spec v1alpha1.DeployItemSpec) (*v1alpha1.DeployItem, error) {
	item := &v1alpha1.DeployItem{ObjectMeta: s.Named(name), Spec: spec}
	if err := s.Client().Create(s.Ctx, item); err != nil {
		return nil, err
	}
	base := item.DeepCopy()
	item.Status.JobID, item.Status.JobIDGenerationTime = uuid.NewString(), &metav1.Time{Time: time.Now()}
	return item, s.Client().Status().Patch(s.Ctx, item, client.MergeFrom(base))
}

// TestManyItemsThatWaitHoldNobodyUp has items whose Deployments never get ready, in each manner.
func TestManyItemsThatWaitHoldNobodyUp(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < waitingItems; i += 8 {
				name := fmt.Sprintf("waits-%d", i)
				_, err := s.begin(name, manners[i%len(manners)].of(s, name, neverReady))
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return s.waiting() == waitingItems }, landscape.Patience, time.Second, "not all items wait")

	for i, manner := range manners {
		began := time.Now()
		name := fmt.Sprintf("other-%d", i)
		item, err := s.begin(name, manner.of(s, name, deployable))
		require.NoError(t, err)
		require.NoError(t, s.Await(s.Ctx, item, func() bool { return item.Status.Phase == v1alpha1.PhaseSucceeded && item.Job().IsIdle() }))
		t.Logf("beside %d items that wait, one with a %s took %s", waitingItems, manner.name, time.Since(began))
	}

	// What was deployed last is watched for drift a moment after the last write: the first half is for that.
	require.NoError(t, s.Standstill.Await(s.Ctx, s.Namespace, 2*restTime))
	require.Empty(t, s.requestsSince(time.Now().Add(-restTime)))
	require.Equal(t, waitingItems, s.waiting())
	s.letGo()
}

// waiting counts the items that say that they wait for their Deployment.
func (s *scene) waiting() (count int) {
	items := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
	for i := range items.Items {
		item := &items.Items[i]
		for _, condition := range item.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == metav1.ConditionUnknown && strings.Contains(condition.Message, "Deployment "+s.Namespace+"/"+item.Name) {
				count++
			}
		}
	}
	return count
}

// requestsSince lists what our processes, and what they deploy with, asked for here since a moment, reads included, and what they deploy with asked
// for in all namespaces.
func (s *scene) requestsSince(since time.Time) []string {
	s.T.Helper()
	requests, err := s.Requests(s.Ctx, since)
	require.NoError(s.T, err)
	var found []string
	for _, r := range requests {
		isDeployer := r.User == s.Deployer()
		isHere := r.Namespace == s.Namespace || isDeployer && r.Namespace == "" && r.Verb != "watch"
		if r.Time.After(since) && isHere && (s.Processes[r.User] != nil || isDeployer) {
			found = append(found, fmt.Sprintln(r.Time.Format(time.StampMicro), r.User, r.Verb, r.Resource, r.Subresource, r.Name, r.Code))
		}
	}
	return found
}

// letGo removes the items and leaves what they have deployed to the namespace.
func (s *scene) letGo() {
	s.T.Helper()
	items := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.DeleteWithoutUninstallAnnotation+`":"true"}}}`))
	for i := range items.Items {
		require.NoError(s.T, s.Client().Patch(s.Ctx, &items.Items[i], patch))
	}
	require.NoError(s.T, s.Client().DeleteAllOf(s.Ctx, &v1alpha1.DeployItem{}, client.InNamespace(s.Namespace)))
}
