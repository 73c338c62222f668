// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	access "github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/migration"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

func migrateCommand() *cobra.Command {
	return group("migrate", "Take a cluster of Gardener Landscaper over", nil, migrateCheckCommand(), migrateAdoptCommand())
}

// migrateFlags are the flags of migrate check.
type migrateFlags struct {
	cluster
	all, blind bool
	output     string
}

func migrateCheckCommand() *cobra.Command {
	f := &migrateFlags{}
	cmd := &cobra.Command{
		Use: "check", Args: cobra.NoArgs,
		Short: "Say what happens to each object of Gardener Landscaper, and prove that targets stay as they are",
		Long: "Say what becomes of each Installation and DeployItem once the processes of this project run:\n\n" +
			"  Kept      it stays as it is, and its next job changes nothing on its target\n" +
			"  Ignored   it, or a field of it, has no effect\n" +
			"  Unproven  it stays as it is, and nobody can say what its next job changes\n" +
			"  Changes   it stays as it is, and its next job changes something on its target\n" +
			"  Runs      a job starts at once, or goes on\n" +
			"  Refused   its next job fails\n\n" +
			"Manifests are compared by dry runs on the targets, with the rights of the Targets. Charts are rendered and compared with the stored release, and\n" +
			"that with the target. Nothing is written. The exit status is 1 if anything is not proven, changes, runs or is refused, and while Gardener Landscaper\n" +
			"runs.",
		Example: "  flux-landscaper migrate check\n  flux-landscaper migrate check --all -o json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bindFlags(cmd.Flags())
	f.bindNamespace(cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "The namespace to look at; by default all."
	cmd.Flags().BoolVar(&f.all, "all", false, "Show what is kept, too.")
	cmd.Flags().BoolVar(&f.blind, "skip-targets", false, "Do not look at targets and charts; nothing is proven then.")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "How to print the result: text, yaml or json.")
	f.complete(cmd)
	return cmd
}

func (f *migrateFlags) run(cmd *cobra.Command) error {
	if err := checkOutput(f.output, "text", "yaml", "json"); err != nil {
		return err
	}
	view, err := f.view(f.namespace == "")
	if err != nil {
		return err
	}
	running, err := stillRunning(cmd.Context(), view.client, time.Now())
	if err != nil {
		return err
	}
	for _, process := range running {
		printError(cmd.ErrOrStderr(), errors.New(process))
	}
	snapshot, err := readWhole(cmd, view)
	if err != nil {
		return err
	}
	findings, err := migration.Review(cmd.Context(), view.client, view.namespace, snapshot)
	if err != nil {
		return err
	}
	if !f.blind {
		printAction(cmd, "rehearsing the next jobs of %d DeployItems", len(snapshot.DeployItems.Items))
		if err := prove(cmd.Context(), view, snapshot, findings); err != nil {
			return err
		}
	}
	if err := f.print(cmd, view, findings); err != nil {
		return err
	}
	bad := func(finding *migration.Finding) bool {
		return slices.Contains([]migration.Outcome{migration.Unproven, migration.Changes, migration.Runs, migration.Refused}, finding.Outcome)
	}
	if len(running) > 0 || slices.ContainsFunc(findings, bad) {
		return errReported
	}
	return nil
}

// readWhole reads what a take-over is about. Half of it would be no answer.
func readWhole(cmd *cobra.Command, view *viewer) (*landscape.Snapshot, error) {
	snapshot, err := view.read(cmd, "Installation", "Execution", "DeployItem")
	if err == nil && len(snapshot.Withheld) > 0 {
		err = errors.New("all Installations, Executions and DeployItems have to be seen: use a kubeconfig that may list them")
	}
	return snapshot, err
}

func prove(ctx context.Context, view *viewer, snapshot *landscape.Snapshot, findings []*migration.Finding) error {
	registries, err := oci.New(oci.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = registries.Close() }()
	artifacts, err := fetch.New(fetch.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = artifacts.Close() }()
	prover, err := migration.NewProver(view.config, view.client, access.Access{
		Registries: registries, Artifacts: artifacts, Sources: view.client, Live: view.client,
	})
	if err != nil {
		return err
	}
	return prover.Prove(ctx, snapshot, findings)
}

func (f *migrateFlags) print(cmd *cobra.Command, view *viewer, findings []*migration.Finding) error {
	counts := map[migration.Outcome]int{}
	shown := []*migration.Finding{}
	for _, finding := range findings {
		counts[finding.Outcome]++
		if f.all || finding.Outcome != migration.Kept || len(finding.Why) > 0 {
			shown = append(shown, finding)
		}
	}
	if f.output != "text" {
		return printStructured(cmd, shown, f.output)
	}
	if table := findingTable(shown); len(table.Rows) > 0 {
		printLines(cmd.OutOrStdout(), table.Lines(view.screen.Width(), view.screen.Paint))
	}
	var summary []string
	for _, outcome := range migration.Outcomes {
		summary = append(summary, fmt.Sprintf("%s: %d", outcome, counts[outcome]))
	}
	printAction(cmd, "%s", strings.Join(summary, ", "))
	return nil
}

// findingTable shows what becomes of objects.
func findingTable(findings []*migration.Finding) *landscape.Table {
	table := &landscape.Table{Columns: []landscape.Column{{Title: "OBJECT"}, {Title: "NAMESPACE"}, {Title: "OUTCOME", Painted: true}, {Title: "WHY", Wraps: true}}}
	for _, finding := range findings {
		health := map[migration.Outcome]landscape.Health{
			migration.Kept: landscape.Well, migration.Refused: landscape.Failing, migration.Changes: landscape.Failing,
		}[finding.Outcome]
		table.Rows = append(table.Rows, landscape.Row{
			Cells: []string{finding.ID.String(), finding.Namespace, string(finding.Outcome), strings.Join(finding.Why, "\n")}, Below: "  ", Health: health,
		})
	}
	return table
}

// formerWebhooks is the name of the configuration of its webhooks, which ours write, too.
const formerWebhooks = "landscaper-validation-webhook"

// formerImages end the names of the images of Gardener Landscaper.
var formerImages = []string{
	"landscaper-controller", "landscaper-webhooks-server", "landscaper-agent", "helm-deployer-controller", "manifest-deployer-controller",
	"container-deployer-controller", "mock-deployer-controller",
}

// formerSign is how old a sign of life of Gardener Landscaper may be; its controllers give one each minute.
const formerSign = 3 * time.Minute

// stillRunning says which processes of Gardener Landscaper run: by Deployments, and, as these may be in another cluster, by the signs of life that its
// controllers write.
func stillRunning(ctx context.Context, c client.Client, now time.Time) ([]string, error) {
	deployments := &appsv1.DeploymentList{}
	if err := c.List(ctx, deployments); err != nil {
		return nil, fmt.Errorf("whether Gardener Landscaper runs cannot be seen: %w", err)
	}
	var running []string
	ours := false
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		if processOf(deployment.Spec.Template.Spec) != "" {
			ours = true
			continue
		}
		isFormer := deployment.Labels["landscaper.gardener.cloud/component"] != ""
		for _, container := range deployment.Spec.Template.Spec.Containers {
			name, _, _ := strings.Cut(container.Image[strings.LastIndex(container.Image, "/")+1:], "@")
			name, _, _ = strings.Cut(name, ":")
			isFormer = isFormer || slices.Contains(formerImages, name)
		}
		wanted := deployment.Spec.Replicas == nil || *deployment.Spec.Replicas > 0
		if isFormer && (wanted || deployment.Status.Replicas > 0) {
			running = append(running, fmt.Sprintf("Gardener Landscaper runs: kubectl scale deployment %s -n %s --replicas 0, suspend what would start it again, and wait until its Pods are gone",
				deployment.Name, deployment.Namespace))
		}
	}
	if ours || len(running) > 0 {
		return running, nil // processes of ours write such signs, too
	}
	checks := &v1alpha1.LsHealthCheckList{}
	if err := c.List(ctx, checks); err != nil && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("whether Gardener Landscaper runs cannot be seen: %w", err)
	}
	for _, check := range checks.Items {
		if age := now.Sub(check.LastUpdateTime.Time); age < formerSign {
			running = append(running, fmt.Sprintf("Gardener Landscaper runs, perhaps in another cluster: LsHealthCheck %s/%s was written %s ago; stop it and wait %s",
				check.Namespace, check.Name, age.Round(time.Second), formerSign))
		}
	}
	return running, nil
}

func migrateAdoptCommand() *cobra.Command {
	var from cluster
	silent := false
	cmd := &cobra.Command{
		Use: "adopt", Args: cobra.NoArgs,
		Short: "Prepare the objects of Gardener Landscaper for the processes of this project",
		Long: "Make the few changes that a take-over needs, after asking: remove the webhooks of Gardener Landscaper, which refuse every write once nobody\n" +
			"answers them, and annotate sub-installations that do not name their template. The command refuses to start while Gardener Landscaper runs. It\n" +
			"can be stopped and repeated at any time. Nothing is written to targets.",
		Example: "  flux-landscaper migrate adopt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			view, err := from.view(true)
			if err != nil {
				return err
			}
			return adopt(cmd, view, silent)
		},
	}
	from.bindFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&silent, "silent", "s", false, "Do not ask.")
	from.complete(cmd)
	return cmd
}

// write is one change of the landscaper cluster.
type write struct {
	does string
	do   func(context.Context) error
}

func adopt(cmd *cobra.Command, view *viewer, silent bool) error {
	running, err := stillRunning(cmd.Context(), view.client, time.Now())
	if err != nil {
		return err
	}
	if len(running) > 0 {
		return errors.New(strings.Join(running, "\n"))
	}
	snapshot, err := readWhole(cmd, view)
	if err != nil {
		return err
	}
	writes, left, err := adoption(cmd.Context(), view.client, snapshot)
	if err != nil {
		return err
	}
	for _, write := range writes {
		printAction(cmd, "%s", write.does)
	}
	if len(writes) > 0 && !silent {
		if err := confirm(cmd, fmt.Sprintf("Do these %d writes?", len(writes))); err != nil {
			return err
		}
	}
	for _, write := range writes {
		if err := write.do(cmd.Context()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("%s: %w", write.does, err)
		}
	}
	for _, name := range left {
		printError(cmd.ErrOrStderr(), fmt.Errorf("the Installation %s does not name its template: annotate it with %s, or delete it", name, v1alpha1.SubinstallationNameAnnotation))
	}
	if len(left) > 0 {
		return errReported
	}
	printDone(cmd, "the objects are ready")
	_, err = view.client.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Environment"}, v1alpha1.GroupVersion.Version)
	if err != nil {
		printAction(cmd, "next: apply flux/crds, then flux/install, then run flux-landscaper check")
	}
	return nil
}

// adoption returns the writes that are left to do, and the sub-installations whose template nobody can tell.
func adoption(ctx context.Context, c client.Client, snapshot *landscape.Snapshot) (writes []write, left []string, err error) {
	processes, err := processesIn(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	hooks := &admissionv1.ValidatingWebhookConfiguration{}
	err = c.Get(ctx, client.ObjectKey{Name: formerWebhooks}, hooks)
	switch {
	case apierrors.IsNotFound(err) || slices.ContainsFunc(processes, func(p *process) bool { return p.Runs == "webhooks" }): // ours go on with it
	case err != nil:
		return nil, nil, err
	default:
		uid := hooks.UID
		writes = append(writes, write{"delete ValidatingWebhookConfiguration " + hooks.Name, func(ctx context.Context) error {
			return c.Delete(ctx, hooks, client.Preconditions{UID: &uid})
		}})
	}
	for i := range snapshot.Installations.Items {
		inst := &snapshot.Installations.Items[i]
		parent, isChild := snapshot.Parent(inst).(*v1alpha1.Installation)
		if !isChild || inst.Annotations[v1alpha1.SubinstallationNameAnnotation] != "" {
			continue
		}
		template := migration.TemplateOf(parent, inst)
		if template == "" {
			left = append(left, inst.Namespace+"/"+inst.Name)
			continue
		}
		writes = append(writes, write{fmt.Sprintf("annotate Installation %s/%s: %s=%s", inst.Namespace, inst.Name, v1alpha1.SubinstallationNameAnnotation, template),
			func(ctx context.Context) error {
				patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, inst.UID, v1alpha1.SubinstallationNameAnnotation, template)
				return c.Patch(ctx, inst.DeepCopy(), client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("flux-landscaper-cli"))
			}})
	}
	return writes, left, nil
}
