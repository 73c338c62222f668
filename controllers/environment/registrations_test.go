// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func environmentOf(name string, connected bool) *v1alpha1.Environment {
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if connected {
		conditions.MarkTrue(env, v1alpha1.AgentConnectedCondition, "LeaseRenewed", "")
	}
	return env
}

func installationOf(registration, env string, change func(*v1alpha1.Installation)) *v1alpha1.Installation {
	key := pair.Key{Registration: registration, Environment: env}
	installation := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: key.Name(), Labels: key.Labels()}}
	change(installation)
	return installation
}

func succeeded(i *v1alpha1.Installation) {
	i.Status.JobID, i.Status.JobIDFinished = "job", "job"
	conditions.MarkTrue(i, meta.ReadyCondition, "Succeeded", "")
}

func failed(i *v1alpha1.Installation) {
	conditions.MarkStalled(i, "Failed", "broken")
	conditions.MarkFalse(i, meta.ReadyCondition, "Failed", "broken")
}

// fleet is a registration with pairs that work in each of some Environments.
func fleet(size int) (environments []*v1alpha1.Environment, installations []*v1alpha1.Installation) {
	for i := range size {
		name := fmt.Sprintf("environment-%03d", i)
		environments = append(environments, environmentOf(name, true))
		installations = append(installations, installationOf("r", name, func(*v1alpha1.Installation) {}))
	}
	return environments, installations
}

// A rollout changes every pair, and every change is written. What is written in all grows with the fleet, and not with its square.
func TestARolloutWritesInProportionToTheFleet(t *testing.T) {
	written := func(size int) (bytes int) {
		environments, installations := fleet(size)
		s := &registrationScope{registration: &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, now: time.Unix(1, 0)}
		for _, installation := range installations {
			succeeded(installation)
			s.observe(judgeRegistration(s.registration, environments, installations))
			raw, err := json.Marshal(s.registration.Status)
			require.NoError(t, err)
			bytes += len(raw)
		}
		assert.True(t, conditions.IsReady(s.registration))
		return bytes
	}
	few, many := written(50), written(400)
	t.Logf("the status of a registration takes %d bytes for each of 50 environments, and %d for each of 400", few/50, many/400)
	assert.Less(t, many/400, few/50*11/10)
}

func TestStatusListsFirstWhatIsNotReady(t *testing.T) {
	environments, installations := fleet(50)
	for i, installation := range installations {
		if i != 30 && i != 45 {
			succeeded(installation)
		}
	}
	s := &registrationScope{registration: &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, now: time.Unix(1, 0)}
	s.observe(judgeRegistration(s.registration, environments, installations))

	status := s.registration.Status
	assert.EqualValues(t, 50, status.TotalEnvironments)
	assert.EqualValues(t, 48, status.ReadyEnvironments)
	require.Len(t, status.Environments, maxListed)
	assert.Equal(t, v1alpha1.RegistrationEnvironment{
		Name: "environment-030", Installation: "r-environment-030", Message: "its job has not begun",
	}, status.Environments[0])
	assert.Equal(t, "environment-045", status.Environments[1].Name)
	assert.Equal(t, v1alpha1.RegistrationEnvironment{Name: "environment-000", Installation: "r-environment-000", Ready: true}, status.Environments[2])
}

func TestJudgeRegistration(t *testing.T) {
	working := func(*v1alpha1.Installation) {}
	prevented := environmentOf("e", false)
	prevented.Status.Deployers = []v1alpha1.EnvironmentDeployer{{Name: "r", Message: "a circle"}}
	tests := map[string]struct {
		environments  []*v1alpha1.Environment
		installations []*v1alpha1.Installation
		name          string
		kind          protocol.FailureKind
		reason        string
		message       string
	}{
		"no environment": {},
		"installed": {
			environments:  []*v1alpha1.Environment{environmentOf("e", true)},
			installations: []*v1alpha1.Installation{installationOf("r", "e", succeeded)},
		},
		"installed where the agent is away": {
			environments:  []*v1alpha1.Environment{environmentOf("e", false)},
			installations: []*v1alpha1.Installation{installationOf("r", "e", succeeded)},
		},
		"at work": {
			environments:  []*v1alpha1.Environment{environmentOf("e", true)},
			installations: []*v1alpha1.Installation{installationOf("r", "e", working)},
			kind:          protocol.Waiting, reason: "DeployerNotReady", message: "environment e: its job has not begun",
		},
		"waits for the agent": {
			environments:  []*v1alpha1.Environment{environmentOf("e", false)},
			installations: []*v1alpha1.Installation{installationOf("r", "e", working)},
			kind:          protocol.Waiting, reason: protocol.ReasonAgentUnreachable, message: "its agent is awaited",
		},
		"not made yet": {
			environments: []*v1alpha1.Environment{environmentOf("e", true)},
			kind:         protocol.Waiting, reason: "DeployerNotReady", message: "environment e: it is not made yet",
		},
		"failed in the second": {
			environments:  []*v1alpha1.Environment{environmentOf("f", true), environmentOf("e", true)},
			installations: []*v1alpha1.Installation{installationOf("r", "e", working), installationOf("r", "f", failed)},
			kind:          protocol.Stalled, reason: "DeployerNotReady", message: "environment f: broken",
		},
		"can never be installed": {
			environments:  []*v1alpha1.Environment{prevented},
			installations: []*v1alpha1.Installation{installationOf("r", "e", working)},
			kind:          protocol.Stalled, reason: "DeployerPrevented", message: "environment e: a circle",
		},
		"name too long": {
			environments: []*v1alpha1.Environment{environmentOf("e", true)}, name: strings.Repeat("r", 57),
			kind: protocol.Stalled, reason: pair.ReasonName, message: "has 59 characters, 58 at most",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
			if test.name != "" {
				registration.Name = test.name
			}
			found := judgeRegistration(registration, test.environments, test.installations)
			assert.Len(t, found.listed, len(test.environments))
			assert.Equal(t, len(test.environments), found.total)
			s := &registrationScope{registration: registration, now: time.Unix(1, 0)}
			s.observe(found)
			assert.Equal(t, test.reason == "", conditions.IsReady(registration))
			if test.reason == "" {
				require.Nil(t, found.failure)
				return
			}
			require.NotNil(t, found.failure)
			assert.Equal(t, test.kind, found.failure.Kind)
			assert.Equal(t, test.reason, found.failure.Reason)
			assert.ErrorContains(t, found.failure, test.message)
			assert.Equal(t, test.kind == protocol.Stalled, registration.Status.LastError != nil)
			assert.Equal(t, test.kind == protocol.Stalled, conditions.IsStalled(registration))
		})
	}
}
