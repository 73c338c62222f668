// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// action is one command on one object of a kind, such as `suspend installation`.
type action struct {
	from cluster
	cmd  *cobra.Command
	kind string
	c    client.Client
}

// actionFlags adds the flags of a command; what it returns does the work on an object as it was read.
type actionFlags func(cmd *cobra.Command, kind string) func(a *action, object *unstructured.Unstructured) error

// verb is a command with one subcommand for each kind, as Flux has them.
func verb(name, short, long string, bind actionFlags, kinds ...string) *cobra.Command {
	all := group(name, short, nil)
	for _, kind := range kinds {
		all.AddCommand(actOn(name, kind, short, long, bind))
	}
	return all
}

func actOn(name, kind, short, long string, bind actionFlags) *cobra.Command {
	a := &action{kind: kind}
	cmd := &cobra.Command{
		Use: strings.ToLower(kind) + " NAME", Args: cobra.ExactArgs(1), Short: short, Long: strings.TrimSpace(short + "\n\n" + long),
		Example: fmt.Sprintf("  flux-landscaper %s %s shop -n team", name, strings.ToLower(kind)), ValidArgsFunction: a.from.completeNames(kind),
	}
	if known, ok := landscape.KindOf(kind); ok {
		cmd.Aliases = append([]string{known.Plural}, known.Short...)
	}
	do := bind(cmd, kind)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, c, err := a.from.open()
		if err != nil {
			return err
		}
		namespace := ""
		if kind != "Environment" {
			if namespace, err = a.from.namespaceOr(); err != nil {
				return err
			}
		}
		a.cmd, a.c = cmd, c
		object, err := a.read(v1alpha1.GroupVersion.Group, kind, namespace, args[0])
		if gone, _ := cmd.Flags().GetBool("deleted"); gone && apierrors.IsNotFound(err) {
			printDone(cmd, "%s is gone", described(kind, namespace, args[0]))
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.from.where(), err)
		}
		return do(a, object)
	}
	a.from.bindFlags(cmd.Flags())
	if kind == "Environment" {
		cmd.Example = strings.TrimSuffix(cmd.Example, " -n team")
	} else {
		a.from.bindNamespace(cmd.Flags())
	}
	a.from.complete(cmd)
	return cmd
}

// read returns an object in the version that the cluster prefers.
func (a *action) read(group, kind, namespace, name string) (*unstructured.Unstructured, error) {
	mapping, err := a.c.RESTMapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := a.c.Get(a.cmd.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("%s: %w", described(kind, namespace, name), err)
	}
	return object, nil
}

func described(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func describe(object client.Object) string {
	return described(object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
}

// patch changes the very object that was read: another one of its name stays as it is.
func (a *action) patch(object *unstructured.Unstructured, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["uid"] = object.GetUID()
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return a.c.Patch(a.cmd.Context(), object, client.RawPatch(types.MergePatchType, body), client.FieldOwner("flux-landscaper-cli"))
}

func (a *action) annotate(object *unstructured.Unstructured, key, value string) error {
	return a.patch(object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

// root refuses a sub-installation, and names the Installation that it belongs to.
func (a *action) root(object *unstructured.Unstructured, command string) error {
	top := object
	for seen := map[types.UID]bool{}; !seen[top.GetUID()]; {
		seen[top.GetUID()] = true
		owner := metav1.GetControllerOf(top)
		if owner == nil || owner.Kind != "Installation" {
			break
		}
		parent, err := a.read(v1alpha1.GroupVersion.Group, owner.Kind, top.GetNamespace(), owner.Name)
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return err
		}
		top = parent
	}
	if top == object {
		return nil
	}
	return fmt.Errorf("%s is a sub-installation and does what its root says: flux-landscaper %s installation %s -n %s", describe(object), command, top.GetName(), top.GetNamespace())
}

func suspended(object *unstructured.Unstructured) bool {
	suspend, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
	return suspend
}

func reconcileCommand() *cobra.Command {
	return verb("reconcile", "Ask for a reconciliation and wait for it", "An Installation runs one job. A deletion that has failed is tried again.", reconcileFlags,
		"Installation", "TargetSync", "Environment")
}

func reconcileFlags(cmd *cobra.Command, kind string) func(*action, *unstructured.Unstructured) error {
	var withSource, awaits bool
	if kind == "Installation" {
		cmd.Flags().BoolVar(&withSource, "with-source", false, "First reconcile the Flux Kustomization that applies the Installation with its source, and the sources of the last job.")
	}
	cmd.Flags().BoolVar(&awaits, "wait", true, "Wait for the end of the reconciliation; the exit status is 1 if the object is not ready then.")
	return func(a *action, object *unstructured.Unstructured) error {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase != string(v1alpha1.PhaseDeleteFailed) {
			if err := a.root(object, "reconcile"); err != nil {
				return err
			}
		}
		if suspended(object) && object.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is suspended: flux-landscaper resume %s %s", describe(object), strings.ToLower(a.kind), arguments(object))
		}
		if object.GetAnnotations()[v1alpha1.IgnoreAnnotation] == "true" {
			return fmt.Errorf("nothing is done with %s while it has the annotation %s", describe(object), v1alpha1.IgnoreAnnotation)
		}
		if withSource {
			if err := a.reconcileSources(object); err != nil {
				return err
			}
		}
		token, err := a.request(object)
		if err != nil || !awaits {
			return err
		}
		return a.await(object, token)
	}
}

// arguments returns the arguments that name an object.
func arguments(object client.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetName() + " -n " + object.GetNamespace()
}

// request asks the controller of an object for a reconciliation, and returns the value that its status shows once it has been done.
func (a *action) request(object *unstructured.Unstructured) (string, error) {
	token := time.Now().Format(time.RFC3339Nano)
	if err := a.annotate(object, meta.ReconcileRequestAnnotation, token); err != nil {
		return "", err
	}
	printAction(a.cmd, "%s annotated", describe(object))
	return token, nil
}

// reconcileSources brings what an Installation is made from up to date: its own manifest, then its blueprint.
func (a *action) reconcileSources(object *unstructured.Unstructured) error {
	revisions := map[string]string{}
	source := func(kind, namespace, name string) (revision string, err error) {
		key := described(kind, namespace, name)
		if _, done := revisions[key]; done || kind == sourcev1.ExternalArtifactKind { // who makes such an artifact is not known
			return revisions[key], nil
		}
		source, err := a.read(sourcev1.GroupVersion.Group, kind, namespace, name)
		if err != nil {
			return "", err
		}
		err = a.refresh(source, never)
		revisions[key], _, _ = unstructured.NestedString(source.Object, "status", "artifact", "revision")
		return revisions[key], err
	}
	labels := object.GetLabels()
	if name := labels[kustomizev1.GroupVersion.Group+"/name"]; name != "" {
		applied, err := a.read(kustomizev1.GroupVersion.Group, kustomizev1.KustomizationKind, labels[kustomizev1.GroupVersion.Group+"/namespace"], name)
		if err != nil {
			return err
		}
		kind, _, _ := unstructured.NestedString(applied.Object, "spec", "sourceRef", "kind")
		from, _, _ := unstructured.NestedString(applied.Object, "spec", "sourceRef", "name")
		namespace, found, _ := unstructured.NestedString(applied.Object, "spec", "sourceRef", "namespace")
		if !found {
			namespace = applied.GetNamespace()
		}
		revision, err := source(kind, namespace, from)
		if err != nil {
			return err
		}
		// A Kustomization that waits for the health of its objects has applied them: it may wait for this very Installation.
		if err := a.refresh(applied, func(g conditions.Getter) bool {
			attempted, _, _ := unstructured.NestedString(applied.Object, "status", "lastAttemptedRevision")
			return attempted == revision && conditions.Has(g, meta.HealthyCondition) && conditions.IsUnknown(g, meta.HealthyCondition)
		}); err != nil {
			return err
		}
	}
	used, _, _ := unstructured.NestedSlice(object.Object, "status", "sources")
	for _, entry := range used {
		state, _ := entry.(map[string]any)
		kind, _ := state["kind"].(string)
		namespace, _ := state["namespace"].(string)
		name, _ := state["name"].(string)
		if _, err := source(kind, namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// refresh reconciles an object of Flux. Far reports that it has come far enough before it has ended.
func (a *action) refresh(object *unstructured.Unstructured, far func(conditions.Getter) bool) error {
	if suspended(object) {
		printWarning(a.cmd, "%s is suspended", describe(object))
		return nil
	}
	token, err := a.request(object)
	if err != nil {
		return err
	}
	err = a.poll(object, func(g conditions.Getter) bool {
		return handled(object) == token && !conditions.IsReconciling(g) || far(g)
	})
	if g := conditions.UnstructuredGetter(object); err == nil && conditions.IsFalse(g, meta.ReadyCondition) {
		printWarning(a.cmd, "%s: %s", describe(object), conditions.GetMessage(g, meta.ReadyCondition))
	}
	return err
}

func handled(object *unstructured.Unstructured) string {
	token, _, _ := unstructured.NestedString(object.Object, "status", "lastHandledReconcileAt")
	return token
}

// await waits until a request has been carried out, and says how the object is then. Without a token it waits until the object is ready.
func (a *action) await(object *unstructured.Unstructured, token string) error {
	ended := func(g conditions.Getter) bool {
		current := conditions.GetObservedGeneration(g, meta.ReadyCondition) == object.GetGeneration()
		if token == "" {
			return current && (conditions.IsReady(g) || conditions.IsStalled(g))
		}
		// What is no Installation may be tried again without an end.
		return handled(object) == token && (a.kind != "Installation" || current && !conditions.IsReconciling(g))
	}
	deleting := object.GetDeletionTimestamp() != nil
	if err := a.poll(object, ended); err != nil {
		if deleting {
			return a.gone(object, err)
		}
		return err
	}
	return a.say(object)
}

// say prints how an object is; what is not ready ends the command with status 1.
func (a *action) say(object *unstructured.Unstructured) error {
	ready := conditions.Get(conditions.UnstructuredGetter(object), meta.ReadyCondition)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		printDone(a.cmd, "%s: %s", describe(object), ready.Message)
		return nil
	}
	message := "has not been reconciled yet"
	if ready != nil {
		message = ready.Reason + ": " + ready.Message
	}
	printError(a.cmd.ErrOrStderr(), fmt.Errorf("%s: %s", describe(object), message))
	return errReported
}

// poll reads an object every second until it is as wanted, and shows each new message of its Ready condition.
func (a *action) poll(object *unstructured.Unstructured, wanted func(conditions.Getter) bool) error {
	said := ""
	err := wait.PollUntilContextCancel(a.cmd.Context(), time.Second, true, func(ctx context.Context) (bool, error) {
		uid := object.GetUID()
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		if object.GetUID() != uid {
			return false, apierrors.NewNotFound(schema.GroupResource{Resource: object.GetKind()}, object.GetName())
		}
		g := conditions.UnstructuredGetter(object)
		if wanted(g) {
			return true, nil
		}
		if message := conditions.GetMessage(g, meta.ReadyCondition); message != said && message != "" {
			printAction(a.cmd, "%s: %s", describe(object), message)
			said = message
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		printError(a.cmd.ErrOrStderr(), fmt.Errorf("%s: %w", describe(object), context.Cause(a.cmd.Context())))
		return errReported
	}
	return err
}

func never(conditions.Getter) bool { return false }

// gone makes the end of an object a good end.
func (a *action) gone(object *unstructured.Unstructured, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	printDone(a.cmd, "%s is gone", describe(object))
	return nil
}

func suspendCommand() *cobra.Command {
	return verb("suspend", "Start nothing new for an object", "A running job goes on. The deletion of a suspended Installation leaves what it has deployed.", setSuspend(true), "Installation", "TargetSync")
}

func resumeCommand() *cobra.Command {
	return verb("resume", "End the suspension of an object", "", setSuspend(false), "Installation", "TargetSync")
}

func setSuspend(to bool) actionFlags {
	return func(*cobra.Command, string) func(*action, *unstructured.Unstructured) error {
		return func(a *action, object *unstructured.Unstructured) error {
			command, done := "resume", "resumed"
			if to {
				command, done = "suspend", "suspended"
			}
			if err := a.root(object, command); err != nil {
				return err
			}
			if manager := ownerOf(object, "f:spec", "f:suspend"); strings.HasPrefix(manager, "kustomize-controller") {
				printWarning(a.cmd, "Git says spec.suspend, and Flux puts it back at its next sync: change it there, too")
			}
			if err := a.patch(object, map[string]any{"spec": map[string]any{"suspend": to}}); err != nil {
				return err
			}
			printDone(a.cmd, "%s %s", describe(object), done)
			return nil
		}
	}
}

// ownerOf returns the manager that applied a field, by the path of fieldsV1; empty without one.
func ownerOf(object client.Object, path ...string) string {
	for _, entry := range object.GetManagedFields() {
		fields := map[string]any{}
		if entry.Operation != metav1.ManagedFieldsOperationApply || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(fields, path...); found {
			return entry.Manager
		}
	}
	return ""
}

func interruptCommand() *cobra.Command {
	return verb("interrupt", "End the running job of an Installation as failed", "", func(*cobra.Command, string) func(*action, *unstructured.Unstructured) error {
		return func(a *action, object *unstructured.Unstructured) error {
			job, _, _ := unstructured.NestedString(object.Object, "status", "jobID")
			finished, _, _ := unstructured.NestedString(object.Object, "status", "jobIDFinished")
			if job == finished {
				printDone(a.cmd, "%s has no running job", describe(object))
				return nil
			}
			if err := a.annotate(object, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt); err != nil {
				return err
			}
			printDone(a.cmd, "%s: its job ends as failed", describe(object))
			return nil
		}
	}, "Installation")
}

func waitCommand() *cobra.Command {
	return verb("wait", "Wait until an object is ready", "The exit status is 1 as soon as the object has failed for good.", func(cmd *cobra.Command, _ string) func(*action, *unstructured.Unstructured) error {
		var deleted bool
		cmd.Flags().BoolVar(&deleted, "deleted", false, "Wait until the object is gone instead.")
		return func(a *action, object *unstructured.Unstructured) error {
			if !deleted {
				return a.await(object, "")
			}
			return a.gone(object, a.poll(object, never))
		}
	}, "Installation", "Execution", "DeployItem", "Target", "TargetSync", "Environment")
}
