// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupName is the API group of every kind in this package.
const GroupName = "landscaper.gardener.cloud"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// SchemeBuilder collects the functions that register the kinds of this package.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package in a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Installation{}, &InstallationList{},
		&Execution{}, &ExecutionList{},
		&DeployItem{}, &DeployItemList{},
		&Target{}, &TargetList{},
		&DataObject{}, &DataObjectList{},
		&Context{}, &ContextList{},
		&Environment{}, &EnvironmentList{},
		&DeployerRegistration{}, &DeployerRegistrationList{},
		&ComponentVersionOverwrites{}, &ComponentVersionOverwritesList{},
		&TargetSync{}, &TargetSyncList{},
		&SyncObject{}, &SyncObjectList{},
		&LsHealthCheck{}, &LsHealthCheckList{},
		&CriticalProblems{}, &CriticalProblemsList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
