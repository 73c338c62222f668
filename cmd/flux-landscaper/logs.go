// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// logLine is a line of a process about one object.
type logLine struct {
	Level     string    `json:"level"`
	Time      time.Time `json:"ts"`
	Message   string    `json:"msg"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Error     string    `json:"error"`
	Root      string    `json:"root"`
	Result    string    `json:"result"`
	Reason    string    `json:"reason"`
	process   string
}

func logsCommand() *cobra.Command {
	var from cluster
	since := time.Hour
	cmd := &cobra.Command{
		Use:     "logs KIND/NAME",
		Short:   "Show what controller and deployers have logged about an object and all below it",
		Long:    "Show what controller and deployers in this cluster have logged about an object and all below it, the newest last. Deployers behind a fence\nlog in their own cluster.",
		Example: "  flux-landscaper logs installation/shop -n team --since 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			v, snapshot, object, err := from.about(cmd, args, "Kustomization", "Installation", "Execution", "DeployItem")
			if err != nil {
				return err
			}
			lines, err := v.logs(cmd, snapshot.Below(object), since)
			if err != nil {
				return err
			}
			for _, line := range lines {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return nil
		},
	}
	from.bindObject(cmd)
	cmd.Flags().DurationVar(&since, "since", since, "How far to look back.")
	return cmd
}

// logs reads the Pods of all processes, and keeps the lines about some objects.
func (v *viewer) logs(cmd *cobra.Command, of []client.Object, since time.Duration) ([]logLine, error) {
	pods := &corev1.PodList{}
	err := v.client.List(cmd.Context(), pods)
	if apierrors.IsForbidden(err) { // perhaps those of the namespace that flux/install uses
		err = v.client.List(cmd.Context(), pods, client.InNamespace("ls-system"))
	}
	if err != nil {
		return nil, fmt.Errorf("the Pods of controller and deployers cannot be found: %w", err)
	}
	access, err := kubernetes.NewForConfig(v.config)
	if err != nil {
		return nil, err
	}
	about := map[string]bool{}
	for _, object := range of {
		about[object.GetNamespace()+"/"+object.GetName()] = true
	}
	var lines []logLine
	read := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		if processOf(pod.Spec) == "" {
			continue
		}
		found, err := podLogs(cmd.Context(), access, pod, since, about)
		if err != nil {
			printWarning(cmd, "Pod %s/%s: %v", pod.Namespace, pod.Name, err)
			continue
		}
		read++
		lines = append(lines, found...)
	}
	if read == 0 {
		return nil, fmt.Errorf("%s has no Pod of a controller or deployer whose log you may read", v.at)
	}
	slices.SortStableFunc(lines, func(a, b logLine) int { return a.Time.Compare(b.Time) })
	return lines, nil
}

func podLogs(ctx context.Context, access kubernetes.Interface, pod *corev1.Pod, since time.Duration, about map[string]bool) ([]logLine, error) {
	start := metav1.NewTime(time.Now().Add(-since))
	stream, err := access.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name, SinceTime: &start}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return linesAbout(stream, processOf(pod.Spec), about)
}

// linesAbout returns the lines of a process about some objects, which are namespace/name.
func linesAbout(stream io.Reader, process string, about map[string]bool) (lines []logLine, err error) {
	reader := bufio.NewReader(stream)
	for {
		text, err := reader.ReadBytes('\n')
		line := logLine{process: process}
		if json.Unmarshal(text, &line) == nil && (about[line.Namespace+"/"+line.Name] || line.Root != "" && about[line.Namespace+"/"+line.Root]) {
			lines = append(lines, line)
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return lines, err
		}
	}
}

// String shows a line as it is read by a person.
func (l logLine) String() string {
	parts := []string{l.Time.UTC().Format(time.RFC3339), l.Level, l.process, l.Name + ":", landscape.Short(l.Message)}
	for _, more := range []string{l.Result, l.Reason, l.Error} {
		if more != "" {
			parts = append(parts, landscape.Short(more))
		}
	}
	return strings.Join(parts, " ")
}
