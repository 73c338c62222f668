// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

var undelivered = regexp.MustCompile(`(?m)^landscaper_events_dropped_total\{reason="undelivered"\} (\d+)$`)

// undelivered returns how many events of the controller have not been delivered.
func (s *notified) undelivered() int {
	s.t.Helper()
	answer, err := http.Get("http://" + s.Metrics[landscape.Controller] + "/metrics")
	require.NoError(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	found := undelivered.FindSubmatch(text)
	if found == nil {
		return 0
	}
	count, err := strconv.Atoi(string(found[1]))
	require.NoError(s.t, err)
	return count
}

// It runs alone: notification-controller is away.
func TestEventsAreDroppedAndCountedWhileNotificationControllerIsAway(t *testing.T) {
	s := newNotified(t)
	s.alert("chat", source("Installation"))
	before := s.undelivered()
	require.NoError(t, controller.process.Kill9())

	s.trivial("shop", nil)
	require.Eventually(t, func() bool { return s.undelivered() == before+1 }, landscape.Patience, landscape.Tick, "the event is given up")
	require.NoError(t, controller.process.Restart())
	s.awaitController()
	inst := s.Installation("shop")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(inst), inst))
	s.again(inst)
	s.Ran("shop", inst.Status.JobID, v1alpha1.PhaseSucceeded)

	s.arrived(1, "chat", "Installation", "shop")
	assert.Equal(t, before+1, s.undelivered())
}

func TestADeadProviderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	var asked atomic.Int32
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_ = connection.Close()
		}
	}()
	s.provider("dead", "http://"+listener.Addr().String())
	s.alertTo("dead", "dead", source("Installation"))
	s.alert("chat", source("Installation"))
	require.Eventually(t, func() bool { return asked.Load() > 0 }, landscape.Patience, landscape.Tick, "the other Alert works, too")
	before := s.undelivered()

	const count = 5
	for i := range count {
		name := fmt.Sprintf("shop-%d", i)
		s.trivial(name, nil)
		s.arrived(1, "chat", "Installation", name)
		s.RequireJobs(1, name)
	}
	failures := func() (all int) {
		list := &corev1.EventList{}
		require.NoError(t, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), client.MatchingFields{"involvedObject.name": "dead"}))
		for i := range list.Items {
			all += int(max(list.Items[i].Count, 1))
		}
		return all
	}
	require.Eventually(t, func() bool { return failures() >= count }, landscape.Patience, landscape.Tick, "notification-controller gives up")
	assert.LessOrEqual(t, asked.Load(), int32(count+s.probes)*5, "some tries for each event")
	assert.Equal(t, before, s.undelivered())
}
