// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

func eventsCommand() *cobra.Command {
	var from cluster
	cmd := &cobra.Command{
		Use:     "events KIND/NAME",
		Short:   "Show the events of an object and of everything below it, the newest last",
		Example: "  flux-landscaper events installation/shop -n team",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, snapshot, object, err := from.about(cmd, args, "Kustomization", "Installation", "Execution", "DeployItem")
			if err != nil {
				return err
			}
			below := snapshot.Below(object)
			var events []corev1.Event
			read := map[string]bool{}
			for _, one := range below {
				if read[one.GetNamespace()] {
					continue
				}
				read[one.GetNamespace()] = true
				list := &corev1.EventList{}
				if err := v.client.List(cmd.Context(), list, client.InNamespace(one.GetNamespace())); err != nil {
					return fmt.Errorf("events in %s: %w", where(one.GetNamespace()), err)
				}
				events = append(events, list.Items...)
			}
			table := eventTable(events, below, time.Now())
			if len(table.Rows) == 0 {
				printDone(cmd, "no events of the last hour")
				return nil
			}
			printLines(cmd.OutOrStdout(), table.Lines(v.screen.Width(), v.screen.Paint))
			return nil
		},
	}
	from.bindObject(cmd)
	return cmd
}

// eventTable shows the events of objects.
func eventTable(events []corev1.Event, of []client.Object, now time.Time) *landscape.Table {
	names := map[types.UID]string{}
	for _, object := range of {
		names[object.GetUID()] = landscape.IDOf(object).String()
	}
	seen := func(event *corev1.Event) time.Time {
		if event.Series != nil {
			return event.Series.LastObservedTime.Time
		}
		return slices.MaxFunc([]time.Time{event.LastTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time}, time.Time.Compare)
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return cmp.Or(seen(&a).Compare(seen(&b)), cmp.Compare(a.Name, b.Name)) })
	table := &landscape.Table{Columns: []landscape.Column{
		{Title: "SEEN"}, {Title: "TYPE", Drop: 2, Painted: true}, {Title: "REASON", Drop: 1}, {Title: "OBJECT"}, {Title: "MESSAGE", Wraps: true},
	}}
	for i := range events {
		event := &events[i]
		name, ours := names[event.InvolvedObject.UID]
		if !ours {
			continue
		}
		health := landscape.Well
		if event.Type == corev1.EventTypeWarning {
			health = landscape.Failing
		}
		table.Rows = append(table.Rows, landscape.Row{
			Cells: []string{landscape.ShowAge(seen(event), now), event.Type, event.Reason, name, landscape.Short(event.Message)}, Below: "  ", Health: health,
		})
	}
	return table
}
