// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DeletionPolicy says what happens to deployed objects when an Installation is deleted.
// +kubebuilder:validation:Enum=Uninstall;Orphan
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionPolicyUninstall removes what was deployed.
	DeletionPolicyUninstall DeletionPolicy = "Uninstall"
	// DeletionPolicyOrphan leaves what was deployed in place.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// InstallationSpec is what a user wants installed.
//
// The rules hold for new objects only. An update that contradicts itself fails in the next job, because Flux would delete an object whose update
// the API server calls invalid.
//
// +kubebuilder:validation:XValidation:optionalOldSelf=true,fieldPath=".blueprint",rule="oldSelf.hasValue() || !has(self.blueprint.sourceRef) || !(has(self.blueprint.inline) || has(self.blueprint.ref))",message="give exactly one of inline, ref and sourceRef"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,fieldPath=".componentDescriptor",rule="oldSelf.hasValue() || !has(self.componentDescriptor) || !(has(self.componentDescriptor.ref) && has(self.componentDescriptor.sourceRef))",message="give exactly one of inline, ref and sourceRef"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,fieldPath=".imports.data",rule="oldSelf.hasValue() || !has(self.imports) || !has(self.imports.data) || self.imports.data.all(d, (has(d.dataRef) && size(d.dataRef) > 0 ? 1 : 0) + (has(d.secretRef) ? 1 : 0) + (has(d.configMapRef) ? 1 : 0) == 1)",message="give exactly one of dataRef, secretRef and configMapRef for each import"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,fieldPath=".imports.targets",rule="oldSelf.hasValue() || !has(self.imports) || !has(self.imports.targets) || self.imports.targets.all(t, (has(t.target) && size(t.target) > 0 ? 1 : 0) + (has(t.targets) && dyn(t.targets) != null ? 1 : 0) + (has(t.targetListRef) && size(t.targetListRef) > 0 ? 1 : 0) + (has(t.targetMap) ? 1 : 0) + (has(t.targetMapRef) && size(t.targetMapRef) > 0 ? 1 : 0) == 1)",message="give exactly one of target, targets, targetListRef, targetMap and targetMapRef for each import"
type InstallationSpec struct {
	// context names the Context in the same namespace, for example shop. Default: default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Context string `json:"context,omitempty"`
	// suspend starts no job while it is true; a running job goes on. A deletion then uninstalls nothing. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// deletionPolicy says whether a deletion uninstalls what was deployed (Uninstall) or leaves it in place (Orphan). Default: Uninstall.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// verification asks for the signature of the component to be verified.
	// +optional
	Verification *Verification `json:"verification,omitempty"`
	// componentDescriptor says where the component comes from, for example {ref: {componentName: example.com/shop, version: 1.2.0}}.
	// +optional
	ComponentDescriptor *ComponentDescriptorDefinition `json:"componentDescriptor,omitempty"`
	// blueprint says where the blueprint comes from, for example {sourceRef: {kind: GitRepository, name: shop}, path: ./blueprints/web}.
	Blueprint BlueprintDefinition `json:"blueprint"`
	// imports connect data and Targets to the imports of the blueprint, for example {targets: [{name: cluster, target: cluster}]}.
	// +optional
	Imports InstallationImports `json:"imports,omitempty"`
	// importDataMappings computes imports of the blueprint from those of the Installation with Spiff expressions, for example {name: (( shop.name ))}.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ImportDataMappings map[string]AnyJSON `json:"importDataMappings,omitempty"`
	// exports names where the exports of the blueprint go, for example {data: [{name: url, dataRef: shop-url}]}.
	// +optional
	Exports InstallationExports `json:"exports,omitempty"`
	// exportDataMappings computes exports of the Installation from those of the blueprint with Spiff expressions, for example {url: (( "https://" host ))}.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ExportDataMappings map[string]AnyJSON `json:"exportDataMappings,omitempty"`
	// automaticReconcile starts jobs by the clock, for example {succeededReconcile: {interval: 12h}}. Without it only changes and requests do.
	// +optional
	AutomaticReconcile *AutomaticReconcile `json:"automaticReconcile,omitempty"`
	// optimization is accepted for old manifests and has no effect.
	// +optional
	Optimization *Optimization `json:"optimization,omitempty"`
}

// Verification names the signature to verify.
type Verification struct {
	// signatureName is the name of the signature in the component descriptor; its keys come from the Context.
	// +kubebuilder:validation:MaxLength=1024
	SignatureName string `json:"signatureName"`
}

// ComponentDescriptorDefinition says where a component descriptor comes from: exactly one of ref, inline and sourceRef.
type ComponentDescriptorDefinition struct {
	// ref to a component version in a repository.
	// +optional
	Reference *ComponentDescriptorReference `json:"ref,omitempty"`
	// inline is a component descriptor document.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Inline *AnyJSON `json:"inline,omitempty"`
	// sourceRef names a Flux source whose artifact holds a component descriptor, component archive or CTF.
	// +optional
	SourceReference *SourceReference `json:"sourceRef,omitempty"`
	// path of the descriptor, archive or CTF inside the artifact of sourceRef, for example ./component-descriptor.yaml.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Path string `json:"path,omitempty"`
}

// ComponentDescriptorReference names a component version.
type ComponentDescriptorReference struct {
	// repositoryContext is the typed repository; empty means that of the Context.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`
	// componentName of the component.
	// +kubebuilder:validation:MaxLength=255
	ComponentName string `json:"componentName"`
	// version of the component.
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`
}

// BlueprintDefinition says where a blueprint comes from: exactly one of ref, inline and sourceRef.
type BlueprintDefinition struct {
	// ref to a resource of the component. Keys of early releases beside resourceName are accepted and ignored.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Reference *BlueprintReference `json:"ref,omitempty"`
	// inline is a file system written in YAML.
	// +optional
	Inline *InlineBlueprint `json:"inline,omitempty"`
	// sourceRef names the Flux source whose artifact holds the blueprint.
	// +optional
	SourceReference *SourceReference `json:"sourceRef,omitempty"`
	// path of the directory of the blueprint inside the artifact of sourceRef, or inside what ref or inline hold, for example ./blueprints/web. Default:
	// its root.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Path string `json:"path,omitempty"`
}

// BlueprintReference names a resource of a component version.
type BlueprintReference struct {
	// resourceName of the blueprint in the component descriptor.
	// +kubebuilder:validation:MaxLength=1024
	ResourceName string `json:"resourceName"`
}

// InlineBlueprint is a blueprint written inside the Installation.
type InlineBlueprint struct {
	// filesystem is a directory: maps are directories, other values are files.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Filesystem AnyJSON `json:"filesystem"`
}

// InstallationImports lists the imports of an Installation.
type InstallationImports struct {
	// data imports.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	Data []DataImport `json:"data,omitempty"`
	// targets are target imports.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	Targets []TargetImport `json:"targets,omitempty"`
	// componentDescriptors is accepted for old manifests and ignored.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ComponentDescriptors *AnyJSON `json:"componentDescriptors,omitempty"`
}

// DataImport reads one value: exactly one of dataRef, secretRef and configMapRef.
type DataImport struct {
	// name of the import, unique over data and targets.
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// dataRef names a DataObject in the scope of the parent, for example shop-url; #name is the object of that name.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	DataRef string `json:"dataRef,omitempty"`
	// version is accepted for old manifests and has no effect.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Version string `json:"version,omitempty"`
	// secretRef names a Secret, or one key of it, read as YAML.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
	// configMapRef names a ConfigMap, or one key of it, read as YAML.
	// +optional
	ConfigMapRef *LocalConfigMapReference `json:"configMapRef,omitempty"`
	// sensitive keeps what sub-installations see of the value in a Secret. What comes from a Secret of an export is sensitive by itself. Default:
	// false. An addition to the API of Gardener Landscaper.
	// +optional
	Sensitive bool `json:"sensitive,omitempty"`
}

// TargetImport reads one or several Targets: exactly one of its fields besides the name.
type TargetImport struct {
	// name of the import, unique over data and targets.
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// target names one Target.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Target string `json:"target,omitempty"`
	// targets names a list of Targets; an empty list is a value.
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	// +nullable
	// +listType=atomic
	Targets []string `json:"targets,omitzero"`
	// targetListRef names a target list import of the parent.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	TargetListReference string `json:"targetListRef,omitempty"`
	// targetMap names Targets by key; an empty map is a value.
	// +kubebuilder:validation:MaxProperties=10000
	// +optional
	TargetMap map[string]string `json:"targetMap,omitzero"`
	// targetMapRef names a target map import of the parent.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	TargetMapReference string `json:"targetMapRef,omitempty"`
}

// InstallationExports lists the exports of an Installation.
type InstallationExports struct {
	// data exports.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	Data []DataExport `json:"data,omitempty"`
	// targets are target exports.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	Targets []TargetExport `json:"targets,omitempty"`
}

// DataExport writes one value to a DataObject.
type DataExport struct {
	// name of the export.
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// dataRef names the DataObject in the scope of the parent.
	// +kubebuilder:validation:MaxLength=1024
	DataRef string `json:"dataRef"`
	// sensitive keeps the value in a Secret that the DataObject names. It counts also where the blueprint says it of the export. Default: false. An
	// addition to the API of Gardener Landscaper.
	// +optional
	Sensitive bool `json:"sensitive,omitempty"`
}

// TargetExport writes one Target.
type TargetExport struct {
	// name of the export.
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// target names the Target in the scope of the parent.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Target string `json:"target,omitempty"`
}

// AutomaticReconcile starts jobs by the clock.
type AutomaticReconcile struct {
	// succeededReconcile repeats succeeded jobs.
	// +optional
	SucceededReconcile *SucceededReconcile `json:"succeededReconcile,omitempty"`
	// failedReconcile retries failed jobs.
	// +optional
	FailedReconcile *FailedReconcile `json:"failedReconcile,omitempty"`
}

// SucceededReconcile repeats succeeded jobs.
type SucceededReconcile struct {
	// interval since the end of the last job, for example 12h; less than 10s counts as 10s. It has no effect beside cronSpec. Default: 24h.
	// +optional
	Interval *Duration `json:"interval,omitempty"`
	// cronSpec in the standard five fields, for example "0 3 * * *", or a descriptor like @daily.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	CronSpec string `json:"cronSpec,omitempty"`
}

// FailedReconcile retries failed jobs.
type FailedReconcile struct {
	// numberOfReconciles is how often to retry, for example 3; 0 and less switch it off. Default: no limit.
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	NumberOfReconciles *int32 `json:"numberOfReconciles,omitempty"`
	// interval since the end of the last job, for example 10m; less than 10s counts as 10s. It has no effect beside cronSpec. Default: 5m.
	// +optional
	Interval *Duration `json:"interval,omitempty"`
	// cronSpec in the standard five fields, for example "0 3 * * *", or a descriptor like @daily.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	CronSpec string `json:"cronSpec,omitempty"`
}

// Optimization holds hints about siblings.
type Optimization struct {
	// hasNoSiblingImports promises that nothing is imported from siblings.
	// +optional
	HasNoSiblingImports bool `json:"hasNoSiblingImports,omitempty"`
	// hasNoSiblingExports promises that siblings import nothing from here.
	// +optional
	HasNoSiblingExports bool `json:"hasNoSiblingExports,omitempty"`
}

// Conditions of Installations beside those that kstatus reads.
const (
	// ComponentReferenceOverwriteCondition reports whether ComponentVersionOverwrites changed the component reference, and how.
	ComponentReferenceOverwriteCondition = "ComponentReferenceOverwrite"
	// ComponentVerifiedCondition reports whether the signature of the component was verified by the last job. It is absent where none was
	// asked for.
	ComponentVerifiedCondition = "ComponentVerified"
)

// InstallationStatus is what the controller observed.
type InstallationStatus struct {
	// observedGeneration is the generation of the spec that the last job ran for; -1 before the first job.
	ObservedGeneration int64 `json:"observedGeneration"`

	JobStatus `json:",inline"`

	meta.ReconcileRequestStatus `json:",inline"`

	// operationJobID is the running job of a root when the operation annotation started it. The annotation goes after the status says so, in
	// the write that puts this job into the annotation landscaper.gardener.cloud/job. An addition to the API of Gardener Landscaper.
	// +optional
	OperationJobID string `json:"operationJobID,omitempty"`
	// lastAttemptedRevision is the revision that the last job used: of the first of sources, or the version of the component. An addition to
	// the API of Gardener Landscaper.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`
	// lastAppliedRevision is that of the last job that succeeded. An addition to the API of Gardener Landscaper.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`
	// history lists the contents that the last jobs deployed, five at most and the newest first, in the form of Flux: digest is that of
	// spec, sources and imports, lastReconciledStatus the phase. An addition to the API of Gardener Landscaper.
	// +optional
	// +listType=atomic
	History []meta.Snapshot `json:"history,omitempty"`
	// sources are the states of the Flux sources that the last job used.
	// +optional
	// +listType=atomic
	Sources []SourceStatus `json:"sources,omitempty"`
	// importsHash is a hash over the imports of the last job.
	// +optional
	ImportsHash string `json:"importsHash,omitempty"`
	// consumedHash is a hash over those imports of the last job that siblings exported. An addition to the API of Gardener Landscaper.
	// +optional
	ConsumedHash string `json:"consumedHash,omitempty"`
	// executionRef names the Execution.
	// +optional
	ExecutionReference *ObjectReference `json:"executionRef,omitempty"`
	// subInstCache lists the known sub-installations.
	// +optional
	SubInstCache *SubInstCache `json:"subInstCache,omitempty"`
	// automaticReconcileStatus counts automatic jobs.
	// +optional
	AutomaticReconcileStatus *AutomaticReconcileStatus `json:"automaticReconcileStatus,omitempty"`
	// dependentsToTrigger lists siblings to start next. It is accepted from Gardener Landscaper, whose controllers started them at their next
	// event: a sibling that is taken over and listed runs once. It is not written, because siblings start by the events of their producers.
	// +optional
	// +listType=atomic
	DependentsToTrigger []DependentToTrigger `json:"dependentsToTrigger,omitempty"`
}

// SubInstCache lists the known sub-installations.
type SubInstCache struct {
	// activeSubs are those of the current blueprint.
	// +optional
	// +listType=atomic
	ActiveSubs []SubNamePair `json:"activeSubs,omitempty"`
	// orphanedSubs are object names of those that the blueprint no longer has.
	// +optional
	// +listType=atomic
	OrphanedSubs []string `json:"orphanedSubs,omitempty"`
}

// SubNamePair connects the name of a template with the name of the object made from it.
type SubNamePair struct {
	// specName is the name of the template.
	SpecName string `json:"specName"`
	// objectName is the name of the object.
	ObjectName string `json:"objectName"`
	// blueprintDigest is the digest of the blueprint that the verified blueprint of the parent holds for this sub-installation, as
	// algorithm:hex. It is set where the policy for signatures is Enforce. An addition to the API of Gardener Landscaper.
	// +optional
	BlueprintDigest string `json:"blueprintDigest,omitempty"`
}

// Find returns what is recorded of an active sub-installation by the name of its object; the zero value when there is nothing.
func (c *SubInstCache) Find(objectName string) SubNamePair {
	if c == nil {
		return SubNamePair{}
	}
	for _, pair := range c.ActiveSubs {
		if pair.ObjectName == objectName {
			return pair
		}
	}
	return SubNamePair{}
}

// Lists reports whether an Installation has recorded a sub-installation, by the name of its object.
func (s *InstallationStatus) Lists(objectName string) bool {
	return s.SubInstCache.Find(objectName).ObjectName != "" ||
		s.SubInstCache != nil && slices.Contains(s.SubInstCache.OrphanedSubs, objectName)
}

// AutomaticReconcileStatus counts automatic jobs.
type AutomaticReconcileStatus struct {
	// generation that is counted for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// numberOfReconciles so far.
	// +optional
	NumberOfReconciles int32 `json:"numberOfReconciles,omitempty"`
	// lastReconcileTime is when the last automatic job was started.
	// +optional
	LastReconcileTime metav1.Time `json:"lastReconcileTime,omitempty"`
	// onFailed says whether failures (true) or successes are counted.
	// +optional
	OnFailed bool `json:"onFailed,omitempty"`
}

// DependentToTrigger names a sibling.
type DependentToTrigger struct {
	// name of the Installation.
	// +optional
	Name string `json:"name,omitempty"`
}

// Installation is one use of a blueprint.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=installations,shortName=inst,singular=installation,categories=all;fluxcd;fluxcd-appliers;landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.lastAppliedRevision`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Drifted",type=string,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="Execution",type=string,priority=1,JSONPath=`.status.executionRef.name`
type Installation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec InstallationSpec `json:"spec"`
	// status is written by the controller. Keys of early releases are accepted in applied manifests and ignored.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +kubebuilder:pruning:PreserveUnknownFields
	// +structType=atomic
	// +optional
	Status InstallationStatus `json:"status,omitempty"`
}

// InstallationList is a list of Installations.
//
// +kubebuilder:object:root=true
type InstallationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Installation `json:"items"`
}

// GetConditions returns the conditions of the status.
func (in *Installation) GetConditions() []metav1.Condition {
	return in.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (in *Installation) SetConditions(conditions []metav1.Condition) {
	in.Status.Conditions = conditions
}

// Job returns the part of the status that carries the job protocol.
func (in *Installation) Job() *JobStatus {
	return &in.Status.JobStatus
}

// IsRoot reports whether the Installation names no other as the one that controls it.
func (in *Installation) IsRoot() bool {
	return in.ParentReference() == nil
}

// ParentReference returns the reference to the Installation that controls this one, nil for roots. Anybody who writes the object may have
// written it: what it names is the parent only if its status lists this Installation.
func (in *Installation) ParentReference() *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(in)
	if owner == nil || owner.Kind != "Installation" {
		return nil
	}
	if group, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || group.Group != GroupName {
		return nil
	}
	return owner
}

// ContextName returns the name of the Context, "default" when the spec names none.
func (in *Installation) ContextName() string {
	if in.Spec.Context == "" {
		return DefaultContextName
	}
	return in.Spec.Context
}
