// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

const (
	// itemType is the spec.type of the DeployItems that this deployer carries out.
	itemType = "example.com/robot"
	// ownerAnnotation marks what the deployer has made with the UID of the DeployItem, so that it takes over and deletes nothing of others.
	ownerAnnotation = "example.com/deploy-item"
	operation       = "Reconcile"
)

// configuration is the spec.config of a DeployItem: the ServiceAccount to make on the target.
type configuration struct {
	// Namespace has to exist; the item waits for it.
	Namespace string `json:"namespace"`
	// Name of the ServiceAccount.
	Name string `json:"name"`
	// Labels of the ServiceAccount. Others that it has stay.
	Labels map[string]string `json:"labels,omitempty"`
}

// record is the status.providerStatus of a DeployItem: what a deletion has to remove, and from which cluster.
type record struct {
	ClusterUID string `json:"clusterUID"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// deployer makes ServiceAccounts and exports their user names.
type deployer struct{}

var _ contract.Deployer = deployer{}

// Name returns robot.example.com.
func (deployer) Name() string { return "robot.example.com" }

// Type returns example.com/robot.
func (deployer) Type() string { return itemType }

// Ensure makes the ServiceAccount or gives it the labels of the item, and exports its user name as user. It waits for a missing namespace.
// What no later attempt can cure ends the job at once, through contract.Stall; every other error is tried again until the item times out.
func (deployer) Ensure(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	wanted, err := decode(item)
	if err != nil {
		return contract.Outcome{}, err
	}
	if item.Target == nil {
		return contract.Outcome{}, contract.Stall(operation, "TargetMissing", "spec.target is unset; name the Target of the cluster to work on")
	}
	namespace := &corev1.Namespace{}
	if err := item.Target.Client.Get(ctx, client.ObjectKey{Name: wanted.Namespace}, namespace); apierrors.IsNotFound(err) {
		return waitFor(item, "Namespace", "", wanted.Namespace, "to be created"), nil
	} else if err != nil {
		return contract.Outcome{}, fmt.Errorf("read namespace %s: %w", wanted.Namespace, err)
	}
	if err := remember(ctx, item, wanted); err != nil {
		return contract.Outcome{}, err
	}
	account, err := apply(ctx, item, wanted)
	if err != nil {
		return contract.Outcome{}, err
	}
	if !account.DeletionTimestamp.IsZero() {
		return waitFor(item, "ServiceAccount", account.Namespace, account.Name, "to be gone, because somebody has deleted it"), nil
	}
	return contract.Outcome{
		Done:    true,
		Exports: map[string]any{"user": fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name)},
	}, nil
}

// Delete removes the ServiceAccount that the record names and waits until it is gone. One that the item has not made stays.
func (deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	made, err := recordOf(item)
	if err != nil || made == nil {
		return contract.Outcome{Done: err == nil}, err
	}
	if err := checkCluster(ctx, item, made); err != nil {
		return contract.Outcome{}, err
	}
	account := &corev1.ServiceAccount{}
	err = item.Target.Client.Get(ctx, client.ObjectKey{Namespace: made.Namespace, Name: made.Name}, account)
	if apierrors.IsNotFound(err) || err == nil && !isOwn(item, account) {
		return contract.Outcome{Done: true}, nil
	}
	if err != nil {
		return contract.Outcome{}, fmt.Errorf("read ServiceAccount %s/%s: %w", made.Namespace, made.Name, err)
	}
	// The preconditions keep what somebody has put in its place since it was read.
	err = item.Target.Client.Delete(ctx, account, client.Preconditions{UID: &account.UID, ResourceVersion: &account.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return contract.Outcome{}, fmt.Errorf("delete ServiceAccount %s/%s: %w", made.Namespace, made.Name, err)
	}
	return waitFor(item, "ServiceAccount", made.Namespace, made.Name, "to be gone"), nil
}

func decode(item *contract.Item) (*configuration, error) {
	if item.DeployItem.Spec.Configuration == nil {
		return nil, contract.Stall(operation, "InvalidConfiguration", "spec.config is unset; set namespace and name")
	}
	wanted := &configuration{}
	decoder := json.NewDecoder(bytes.NewReader(item.DeployItem.Spec.Configuration.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(wanted); err != nil {
		return nil, contract.Stall(operation, "InvalidConfiguration", "spec.config: %w", err)
	}
	for field, name := range map[string]string{"namespace": wanted.Namespace, "name": wanted.Name} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, contract.Stall(operation, "InvalidConfiguration", "spec.config.%s: %s", field, strings.Join(problems, "; "))
		}
	}
	return wanted, nil
}

// remember writes into the status what is about to be made, before it is made: the process may die after any request.
func remember(ctx context.Context, item *contract.Item, wanted *configuration) error {
	made, err := recordOf(item)
	if err != nil {
		return err
	}
	if made == nil {
		identity, err := item.Target.Identity(ctx)
		if err != nil {
			return fmt.Errorf("identify the target: %w", err)
		}
		raw, err := json.Marshal(record{ClusterUID: string(identity.UID), Namespace: wanted.Namespace, Name: wanted.Name})
		if err != nil {
			return err
		}
		return item.Record(ctx, &runtime.RawExtension{Raw: raw})
	}
	if made.Namespace != wanted.Namespace || made.Name != wanted.Name {
		return contract.Stall(operation, "Renamed", "spec.config names ServiceAccount %s/%s, but the item has made %s/%s, which cannot be renamed; "+
			"take back the change, or make another DeployItem", wanted.Namespace, wanted.Name, made.Namespace, made.Name)
	}
	return checkCluster(ctx, item, made)
}

// checkCluster refuses to work on another cluster than the one with the ServiceAccount of the item.
func checkCluster(ctx context.Context, item *contract.Item, made *record) error {
	if item.Target == nil {
		return errors.New("the ServiceAccount of the item is on a target that is no longer named")
	}
	identity, err := item.Target.Identity(ctx)
	if err != nil {
		return fmt.Errorf("identify the target: %w", err)
	}
	if string(identity.UID) != made.ClusterUID {
		return contract.Stall(operation, "TargetChanged", "the Target leads to another cluster than the one with ServiceAccount %s/%s; "+
			"correct spec.target", made.Namespace, made.Name)
	}
	return nil
}

// recordOf returns nil where the item has recorded nothing yet.
func recordOf(item *contract.Item) (*record, error) {
	status := item.DeployItem.Status.ProviderStatus
	if status == nil || len(status.Raw) == 0 {
		return nil, nil
	}
	made := &record{}
	if err := json.Unmarshal(status.Raw, made); err != nil || made.Name == "" {
		return nil, contract.Stall(operation, "StatusUnreadable", "status.providerStatus was not written by this deployer; remove it")
	}
	return made, nil
}

// apply creates the ServiceAccount, or patches its labels if they differ, and returns it.
func apply(ctx context.Context, item *contract.Item, wanted *configuration) (*corev1.ServiceAccount, error) {
	name := fmt.Sprintf("ServiceAccount %s/%s", wanted.Namespace, wanted.Name)
	account := &corev1.ServiceAccount{}
	err := item.Target.Client.Get(ctx, client.ObjectKey{Namespace: wanted.Namespace, Name: wanted.Name}, account)
	switch {
	case apierrors.IsNotFound(err):
		account.ObjectMeta = metav1.ObjectMeta{
			Namespace: wanted.Namespace, Name: wanted.Name, Labels: wanted.Labels,
			Annotations: map[string]string{ownerAnnotation: string(item.DeployItem.UID)},
		}
		if err := item.Target.Client.Create(ctx, account); err != nil {
			return nil, fmt.Errorf("create %s: %w", name, err)
		}
		return account, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case !isOwn(item, account):
		return nil, contract.Stall(operation, "ObjectOfAnother", "%s exists and was not made by this DeployItem; choose another name", name)
	case !account.DeletionTimestamp.IsZero():
		return account, nil
	}
	changed := account.DeepCopy()
	changed.Labels = maps.Clone(account.Labels)
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	maps.Copy(changed.Labels, wanted.Labels)
	if maps.Equal(changed.Labels, account.Labels) {
		return account, nil
	}
	if err := item.Target.Client.Patch(ctx, changed, client.MergeFromWithOptions(account, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("change %s: %w", name, err)
	}
	return changed, nil
}

func isOwn(item *contract.Item, account *corev1.ServiceAccount) bool {
	return account.Annotations[ownerAnnotation] == string(item.DeployItem.UID)
}

// waitFor returns the outcome of a call that goes on when the named object changes; no worker is held and nothing is polled until then.
func waitFor(item *contract.Item, kind, namespace, name, until string) contract.Outcome {
	return contract.Outcome{
		Waiting: fmt.Sprintf("waiting for %s %s %s", kind, strings.TrimPrefix(namespace+"/"+name, "/"), until),
		Watch:   []contract.Watched{{Cluster: item.Target, APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}},
	}
}
