// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// oldestKubernetes is the first version whose API server selects DeployItems by their type.
const oldestKubernetes = "1.31.0"

// checkup looks at a cluster and prints what it finds.
type checkup struct {
	cmd *cobra.Command
	c   client.Client
	// failed says that something is missing, and blind that something could not be looked at.
	failed, blind bool
}

// look takes several looks. What cannot be looked at is a warning.
func (k *checkup) look(parts ...func(context.Context) error) {
	for _, part := range parts {
		if err := part(k.cmd.Context()); err != nil {
			k.warn("%v", err)
			k.blind = true
		}
	}
}

func checkCommand() *cobra.Command {
	from, pre := &cluster{}, false
	cmd := &cobra.Command{
		Use: "check", Args: cobra.NoArgs,
		Short: "Check that a cluster has what landscapes need",
		Long: "Check the versions of Kubernetes and Flux, and what is installed of flux-landscaper: its kinds, processes, deployers, agents and\n" +
			"webhooks. The exit status is 1 if something that is needed is missing.",
		Example: "  flux-landscaper check --pre\n  flux-landscaper check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, c, err := from.open()
			if err != nil {
				return err
			}
			server, err := discovery.NewDiscoveryClientForConfig(config)
			if err != nil {
				return err
			}
			k := &checkup{cmd: cmd, c: c}
			printAction(cmd, "checking prerequisites")
			if err := k.kubernetes(server); err != nil {
				return err
			}
			k.look(k.flux)
			if !pre {
				printAction(cmd, "checking flux-landscaper %s", version)
				k.look(k.kinds, k.processes, k.deployers, k.agents, k.webhooks)
			}
			switch {
			case k.failed:
				return errReported
			case k.blind:
				printWarning(cmd, "nothing that was seen is missing")
			default:
				printDone(cmd, "all that is needed is there")
			}
			return nil
		},
	}
	from.bindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&pre, "pre", false, "Check only what an installation of flux-landscaper needs.")
	return cmd
}

func (k *checkup) ok(format string, args ...any)   { printDone(k.cmd, format, args...) }
func (k *checkup) warn(format string, args ...any) { printWarning(k.cmd, format, args...) }

func (k *checkup) fail(format string, args ...any) {
	printError(k.cmd.ErrOrStderr(), fmt.Errorf(format, args...))
	k.failed = true
}

func (k *checkup) kubernetes(server discovery.ServerVersionInterface) error {
	info, err := server.ServerVersion()
	if err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	found, err := semver.NewVersion(info.GitVersion)
	if err != nil {
		return fmt.Errorf("version of the API server: %w", err)
	}
	if found.LessThan(semver.MustParse(oldestKubernetes)) {
		k.fail("Kubernetes %s is older than %s: upgrade the cluster", info.GitVersion, oldestKubernetes)
		return nil
	}
	k.ok("Kubernetes %s >=%s", info.GitVersion, oldestKubernetes)
	return nil
}

// served reports whether the cluster has a kind, and says so if not.
func (k *checkup) served(kind schema.GroupKind, version, cure string) bool {
	_, err := k.c.RESTMapper().RESTMapping(kind, version)
	if err != nil {
		k.fail("%s %s/%s is not served: %s", kind.Kind, kind.Group, version, cure)
	}
	return err == nil
}

func (k *checkup) flux(ctx context.Context) error {
	all := true
	for kind, group := range map[string]schema.GroupVersion{
		sourcev1.GitRepositoryKind: sourcev1.GroupVersion, sourcev1.OCIRepositoryKind: sourcev1.GroupVersion, kustomizev1.KustomizationKind: kustomizev1.GroupVersion,
	} {
		all = k.served(schema.GroupKind{Group: group.Group, Kind: kind}, group.Version, "install Flux 2.7 or newer") && all
	}
	if all {
		k.ok("Flux serves its sources and Kustomizations")
	}
	controllers := &appsv1.DeploymentList{}
	if err := k.c.List(ctx, controllers, client.MatchingLabels{"app.kubernetes.io/part-of": "flux"}); err != nil {
		return fmt.Errorf("the controllers of Flux cannot be looked at: %w", err)
	}
	if len(controllers.Items) == 0 {
		k.warn("no Deployment of Flux is in this cluster: no controller of it has the label app.kubernetes.io/part-of=flux")
	}
	for i := range controllers.Items {
		k.deployment(&controllers.Items[i])
		if controllers.Items[i].Name == "kustomize-controller" && !strings.Contains(commandLine(&controllers.Items[i]), "CancelHealthCheckOnNewRevision=true") {
			k.warn("kustomize-controller waits for a broken revision until its timeout before it applies the fix: " +
				"start it with --feature-gates=CancelHealthCheckOnNewRevision=true")
		}
	}
	return nil
}

func commandLine(deployment *appsv1.Deployment) (all string) {
	for _, container := range deployment.Spec.Template.Spec.Containers {
		all += strings.Join(append(container.Command, container.Args...), " ") + " "
	}
	return all
}

// deployment says whether a Deployment is available, and with which image.
func (k *checkup) deployment(of *appsv1.Deployment) {
	name, image := of.Namespace+"/"+of.Name, ""
	if containers := of.Spec.Template.Spec.Containers; len(containers) > 0 {
		image = containers[0].Image
	}
	if wanted := cmp.Or(of.Spec.Replicas, new(int32)); of.Status.AvailableReplicas < *wanted || of.Status.ObservedGeneration < of.Generation {
		k.fail("%s is not available (%d of %d): %s; kubectl -n %s describe pods shows why", name, of.Status.AvailableReplicas, *wanted, image, of.Namespace)
		return
	}
	k.ok("%s %s", name, image)
}

func (k *checkup) kinds(context.Context) error {
	all := true
	for name := range k.c.Scheme().KnownTypes(v1alpha1.GroupVersion) {
		if kind, hasList := strings.CutSuffix(name, "List"); hasList {
			all = k.served(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version, "apply flux/crds") && all
		}
	}
	if all {
		k.ok("all kinds of %s are served", v1alpha1.GroupVersion)
	}
	return nil
}

func (k *checkup) processes(ctx context.Context) error {
	all, err := processesIn(ctx, k.c)
	if err != nil {
		return fmt.Errorf("the processes cannot be looked at: %w", err)
	}
	for _, p := range all {
		k.deployment(p.deployment)
		if p.Skew {
			k.warn("%s", p.skewed())
		}
	}
	if !slices.ContainsFunc(all, func(p *process) bool { return p.Runs == "controller" }) {
		k.fail("there is no controller: install flux/install or the chart landscaper")
	}
	return nil
}

// deployers looks for types of DeployItems that no living deployer carries out. For the deployers of an Environment speaks its agent.
func (k *checkup) deployers(ctx context.Context) error {
	snapshot, err := landscape.Read(ctx, k.c, "", "DeployItem", "Target", "Environment", "Lease")
	if err == nil && len(snapshot.Withheld) > 0 {
		err = fmt.Errorf("you may not list %ss", strings.Join(snapshot.Withheld, "s, "))
	}
	if err != nil {
		return fmt.Errorf("the deployers cannot be looked at: %w", err)
	}
	alive, silent := map[string]bool{}, map[string]string{}
	for i := range snapshot.Leases.Items {
		lease := &snapshot.Leases.Items[i]
		claim, err := notify.DeployerClaimOf(lease)
		name := claim.Deployer + " carries out " + strings.Join(claim.Types, ", ")
		switch {
		case err != nil:
			k.warn("%v", err)
		case landscape.Holds(lease, time.Now()):
			alive[name] = true
		default: // one of former settings stays, too
			silent[name] = lease.Namespace + "/" + lease.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(alive)) {
		k.ok("deployer %s", name)
	}
	for _, name := range slices.Sorted(maps.Keys(silent)) {
		if !alive[name] {
			k.warn("deployer %s, and gives no sign of life: look at its Pods, or delete Lease %s if it is gone for good", name, silent[name])
		}
	}
	missing := map[string]int{}
	for i := range snapshot.DeployItems.Items {
		item := &snapshot.DeployItems.Items[i]
		if names, known := snapshot.DeployersOf(item, time.Now()); known && len(names) == 0 {
			missing[item.Spec.Type]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(missing)) {
		k.fail("no deployer carries out %s, which %d DeployItems have: install one, or mend the type in the blueprint", kind, missing[kind])
	}
	return nil
}

func (k *checkup) agents(ctx context.Context) error {
	environments := &v1alpha1.EnvironmentList{}
	if err := k.c.List(ctx, environments); err != nil {
		return fmt.Errorf("the Environments cannot be looked at: %w", err)
	}
	for i := range environments.Items {
		environment := &environments.Items[i]
		connected := apimeta.FindStatusCondition(environment.Status.Conditions, v1alpha1.AgentConnectedCondition)
		if connected != nil && connected.Status == metav1.ConditionTrue {
			k.ok("agent of Environment %s %s", environment.Name, environment.Status.AgentVersion)
			continue
		}
		message := "its agent has never registered"
		if connected != nil {
			message = connected.Message
		}
		k.fail("Environment %s: %s", environment.Name, message)
	}
	return nil
}

func (k *checkup) webhooks(ctx context.Context) error {
	all := &admissionv1.ValidatingWebhookConfigurationList{}
	if err := k.c.List(ctx, all); err != nil {
		return fmt.Errorf("webhooks cannot be looked at: %w", err)
	}
	for i := range all.Items {
		for _, hook := range all.Items[i].Webhooks {
			ours := slices.ContainsFunc(hook.Rules, func(r admissionv1.RuleWithOperations) bool {
				return slices.Contains(r.APIGroups, v1alpha1.GroupVersion.Group)
			})
			switch {
			case !ours:
			case len(hook.ClientConfig.CABundle) == 0:
				k.fail("webhook %s has no certificate: look at the Pods of `landscaper webhooks`", hook.Name)
			default:
				k.ok("webhook %s", hook.Name)
			}
		}
	}
	return nil
}
