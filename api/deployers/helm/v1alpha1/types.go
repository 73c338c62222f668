// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the configuration and the status of DeployItems of type landscaper.gardener.cloud/helm
// (spec/deployers.md §7).
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// APIVersion is group and version of the kinds of this package.
const APIVersion = "helm.deployer.landscaper.gardener.cloud/v1alpha1"

// Kinds of this package.
const (
	// ProviderConfigurationKind is the kind of ProviderConfiguration.
	ProviderConfigurationKind = "ProviderConfiguration"
	// ProviderStatusKind is the kind of ProviderStatus.
	ProviderStatusKind = "ProviderStatus"
	// ConfigurationKind is the kind of Configuration.
	ConfigurationKind = "Configuration"
)

// ProviderConfiguration is spec.config of a DeployItem.
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// name of the release.
	Name string `json:"name"`
	// namespace of the release.
	Namespace string `json:"namespace"`
	// createNamespace creates the namespace when the release is installed and the namespace is missing. It is never deleted.
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// chart says where the chart comes from.
	Chart Chart `json:"chart"`
	// values of the chart: a JSON object.
	Values v1alpha1.AnyJSON `json:"values,omitempty"`
	// valuesFrom are values in Secrets and ConfigMaps of the namespace of the DeployItem, at most 100. They are merged in this order, and
	// Values win. Each job reads them anew. It is an addition to the API of Gardener Landscaper, as in a HelmRelease.
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// helmDeployment false renders the chart and applies its objects one by one, without a Helm release. Unset means true.
	HelmDeployment *bool `json:"helmDeployment,omitempty"`
	// helmDeploymentConfig holds settings of the Helm operations.
	HelmDeploymentConfig *HelmDeploymentConfiguration `json:"helmDeploymentConfig,omitempty"`
	// maxHistory is how many revisions of the release stay recorded on the target, 1000 at most; 0 means as many. Unset means 10. It is an
	// addition to the API of Gardener Landscaper, as in a HelmRelease.
	MaxHistory *int `json:"maxHistory,omitempty"`
	// commonMetadata is set on all objects of the chart except hooks and the definitions in its crds directory. It is an addition to the
	// API of Gardener Landscaper, as in a HelmRelease.
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`
	// postRenderers change the objects of the chart except hooks and the definitions in its crds directory, one after the other, before
	// CommonMetadata is set. It is an addition to the API of Gardener Landscaper, as in a HelmRelease.
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`
	// test runs the tests of the chart after each install and upgrade, once the objects are ready; only with a Helm release. It is an addition to
	// the API of Gardener Landscaper, as in a HelmRelease.
	Test *Test `json:"test,omitempty"`
	// updateStrategy for objects that exist already, update, patch or apply; only without a Helm release. Empty means update.
	UpdateStrategy managedresource.UpdateStrategy `json:"updateStrategy,omitempty"`
	// onConflict says what strategy apply does about fields that another field manager has set, Force or Fail; empty means Force. It is an
	// addition to the API of Gardener Landscaper.
	OnConflict managedresource.OnConflict `json:"onConflict,omitempty"`
	// onImmutable says what becomes of an object when a field is changed that cannot be changed, Fail or Recreate; only without a
	// Helm release. Empty means Fail. It is an addition to the API of Gardener Landscaper.
	OnImmutable managedresource.OnImmutable `json:"onImmutable,omitempty"`
	// readinessChecks say when the objects are ready.
	ReadinessChecks managedresource.ReadinessCheckConfiguration `json:"readinessChecks,omitempty"`
	// exports are read from the values of the chart or from objects.
	Exports *managedresource.Exports `json:"exports,omitempty"`
	// exportsFromManifests is the older form of exports; both are read.
	ExportsFromManifests []managedresource.Export `json:"exportsFromManifests,omitempty"`
	// continuousReconcile carries the DeployItem out again by the clock.
	ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile,omitempty"`
	// driftDetection says what happens when somebody changes or deletes deployed objects. It is an addition to the API of Gardener Landscaper, as in
	// a HelmRelease.
	DriftDetection *managedresource.DriftDetection `json:"driftDetection,omitempty"`
	// deletionGroups are the steps of the deletion of the DeployItem; only without a Helm release.
	DeletionGroups []managedresource.DeletionGroupDefinition `json:"deletionGroups,omitempty"`
	// deletionGroupsDuringUpdate are the steps of the deletion of objects that left the chart; only without a Helm release.
	DeletionGroupsDuringUpdate []managedresource.DeletionGroupDefinition `json:"deletionGroupsDuringUpdate,omitempty"`
}

// IsHelmDeployment reports whether a Helm release is made.
func (c *ProviderConfiguration) IsHelmDeployment() bool {
	return c.HelmDeployment == nil || *c.HelmDeployment
}

// AllExports returns the exports of both fields.
func (c *ProviderConfiguration) AllExports() []managedresource.Export {
	var all []managedresource.Export
	if c.Exports != nil {
		all = append(all, c.Exports.Exports...)
	}
	return append(all, c.ExportsFromManifests...)
}

// Chart says where a chart comes from. The first field that is set counts, in the order archive, ref, helmChartRepo, sourceRef,
// fromResource, resourceRef.
type Chart struct {
	// archive is a packed chart.
	Archive *ArchiveAccess `json:"archive,omitempty"`
	// ref is an OCI reference with tag: registry/path:tag, optionally followed by @digest.
	Ref string `json:"ref,omitempty"`
	// helmChartRepo is a chart of a Helm repository.
	HelmChartRepo *HelmChartRepo `json:"helmChartRepo,omitempty"`
	// sourceRef names a Flux source: HelmChart, OCIRepository, GitRepository, Bucket or ExternalArtifact. It is an addition to the API of Gardener
	// Landscaper.
	SourceRef *v1alpha1.SourceReference `json:"sourceRef,omitempty"`
	// path is the directory of the chart inside the artifact of sourceRef; empty means its root.
	Path string `json:"path,omitempty"`
	// fromResource is the oldest form of resourceRef.
	FromResource *RemoteChartReference `json:"fromResource,omitempty"`
	// resourceRef is a resource of a component, as the template function getResourceKey returns it. A digest in it has to be that of the chart.
	ResourceRef string `json:"resourceRef,omitempty"`
}

// ArchiveAccess is a packed chart.
type ArchiveAccess struct {
	// raw is the base64 form of a gzipped tar archive.
	Raw string `json:"raw,omitempty"`
	// remote is an archive to download.
	Remote *RemoteArchiveAccess `json:"remote,omitempty"`
}

// RemoteArchiveAccess is an archive to download without credentials.
type RemoteArchiveAccess struct {
	// url of the archive, http or https.
	URL string `json:"url,omitempty"`
}

// HelmChartRepo is a chart of a Helm repository.
type HelmChartRepo struct {
	// helmChartRepoUrl is the URL of the repository; https:// is assumed when it has no scheme. With oci:// the chart is the repository of its
	// name below that path of a registry.
	HelmChartRepoUrl string `json:"helmChartRepoUrl,omitempty"`
	// helmChartName is the name of the chart.
	HelmChartName string `json:"helmChartName,omitempty"`
	// helmChartVersion is the exact version of the chart, or a semver range such as 1.x, which means the highest version in it at the time of
	// the job. Ranges and oci:// are additions to the API of Gardener Landscaper.
	HelmChartVersion string `json:"helmChartVersion,omitempty"`
}

// RemoteChartReference names a resource of a component.
type RemoteChartReference struct {
	// ref names the component version.
	Ref *v1alpha1.AnyJSON `json:"ref,omitempty"`
	// inline is a component descriptor.
	Inline *v1alpha1.AnyJSON `json:"inline,omitempty"`
	// resourceName is the name of the resource.
	ResourceName string `json:"resourceName,omitempty"`
}

// HelmDeploymentConfiguration holds settings of the Helm operations. The keys of each map are those of ReleaseSettings; others are refused.
type HelmDeploymentConfiguration struct {
	// install holds atomic, crds, disableHooks, disableOpenAPIValidation, disableWaitForJobs, force, remediation, retries,
	// skipSchemaValidation, takeOwnership, timeout, wait and waitForJobs.
	Install map[string]v1alpha1.AnyJSON `json:"install,omitempty"`
	// upgrade holds the same keys as install, and cleanupOnFail.
	Upgrade map[string]v1alpha1.AnyJSON `json:"upgrade,omitempty"`
	// uninstall holds deletionPropagation, disableHooks, keepHistory, timeout and wait.
	Uninstall map[string]v1alpha1.AnyJSON `json:"uninstall,omitempty"`
	// rollback holds cleanupOnFail, disableHooks, disableWaitForJobs, force, recreate, timeout, wait and waitForJobs. It counts for rollbacks
	// that remediate a failed upgrade. It is an addition to the API of Gardener Landscaper, as in a HelmRelease.
	Rollback map[string]v1alpha1.AnyJSON `json:"rollback,omitempty"`
}

// Kinds that a ValuesReference may name.
const (
	// SecretValues is the kind of a reference to a Secret.
	SecretValues = "Secret"
	// ConfigMapValues is the kind of a reference to a ConfigMap.
	ConfigMapValues = "ConfigMap"
	// DefaultValuesKey is the key when a reference has none.
	DefaultValuesKey = "values.yaml"
	// MaxValuesFrom is how many references a configuration may have.
	MaxValuesFrom = 100
)

// ValuesReference names values in an object of the namespace of the DeployItem on the landscaper cluster.
type ValuesReference struct {
	// kind is Secret or ConfigMap.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
	// valuesKey is the key in the object. Empty means values.yaml.
	ValuesKey string `json:"valuesKey,omitempty"`
	// targetPath is where the content goes, in the syntax of helm --set, which the content has, too. Content in single or double quotes is a
	// string whatever it looks like. Empty means that the content is a YAML file with values.
	TargetPath string `json:"targetPath,omitempty"`
	// optional goes on without when the object or the key is missing.
	Optional bool `json:"optional,omitempty"`
}

// CommonMetadata is what many objects have in common.
type CommonMetadata struct {
	// labels to set; they win over those of the chart.
	Labels map[string]string `json:"labels,omitempty"`
	// annotations to set; they win over those of the chart.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// CRDPolicy says what an operation does with the definitions in the crds directories of a chart.
type CRDPolicy string

// Policies for definitions.
const (
	// CRDsSkip leaves definitions alone. It is the default of upgrades.
	CRDsSkip CRDPolicy = "Skip"
	// CRDsCreate creates those that do not exist. It is the default of installs.
	CRDsCreate CRDPolicy = "Create"
	// CRDsCreateReplace also replaces those that exist. None is ever deleted.
	CRDsCreateReplace CRDPolicy = "CreateReplace"
)

// ReleaseSettings are the settings of one Helm operation.
type ReleaseSettings struct {
	// atomic undoes a failed operation.
	Atomic bool `json:"atomic,omitempty"`
	// force replaces objects that cannot be patched.
	Force bool `json:"force,omitempty"`
	// skipSchemaValidation ignores the chart's values.schema.json.
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`
	// takeOwnership adopts objects that exist already. In the settings of upgrades it also takes over a release that another DeployItem made.
	TakeOwnership bool `json:"takeOwnership,omitempty"`
	// retries is how often a job tries the operation again after it failed; then the job fails. Unset means 2 for atomic upgrades, 10 for
	// atomic installs, and for others until the time of the DeployItem is up. It is an addition to the API of Gardener Landscaper.
	Retries *int `json:"retries,omitempty"`
	// wait makes the operation last until the objects are ready, or gone. An uninstall waits unless it is false.
	Wait bool `json:"wait,omitempty"`
	// timeout limits hooks and waiting, within the time that the DeployItem has left.
	Timeout *v1alpha1.Duration `json:"timeout,omitempty"`

	// The following are additions to the API of Gardener Landscaper with the names that they have in a HelmRelease.

	// disableHooks runs no hooks.
	DisableHooks bool `json:"disableHooks,omitempty"`
	// waitForJobs makes what waits wait for Jobs to complete, too.
	WaitForJobs bool `json:"waitForJobs,omitempty"`
	// disableWaitForJobs is the opposite of waitForJobs; false means the same as waitForJobs true.
	DisableWaitForJobs *bool `json:"disableWaitForJobs,omitempty"`
	// cleanupOnFail deletes the objects that a failed upgrade has created.
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`
	// keepHistory leaves the revisions of an uninstalled release recorded.
	KeepHistory bool `json:"keepHistory,omitempty"`
	// deletionPropagation of the objects of an uninstalled release: background, foreground or orphan. Empty means background.
	DeletionPropagation string `json:"deletionPropagation,omitempty"`
	// crds says what happens to the definitions in the crds directories of the chart. Unset means Create for installs and Skip for upgrades.
	CRDs CRDPolicy `json:"crds,omitempty"`
	// disableOpenAPIValidation false lets Helm check the objects against the schemas of the cluster. Helm leaves that to clusters that check
	// fields themselves, as all current ones do. Unset means true.
	DisableOpenAPIValidation *bool `json:"disableOpenAPIValidation,omitempty"`
	// remediation says what follows a failed install or upgrade. Unset means that nothing is undone. It excludes atomic and retries.
	Remediation *Remediation `json:"remediation,omitempty"`
	// recreate restarts the Pods that a rollback has changed.
	Recreate bool `json:"recreate,omitempty"`
}

// ProviderStatus is status.providerStatus of a DeployItem.
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`
	// managedResources are the objects on the target that belong to the DeployItem: with a Helm release only its workloads, for
	// readiness; without one all.
	ManagedResources []managedresource.ManagedResourceStatus `json:"managedResources,omitempty"`
	// release is the release that the last job made. It is an addition to the API of Gardener Landscaper and absent without a Helm release.
	Release *ReleaseStatus `json:"release,omitempty"`
	// objectsDigest identifies the objects that the last job applied without a Helm release; what Secrets hold is not part of it. It is an
	// addition to the API of Gardener Landscaper.
	ObjectsDigest string `json:"objectsDigest,omitempty"`
	// recordedGeneration is the generation of the DeployItem whose objects managedResources records. It is an addition to the
	// API of Gardener Landscaper and absent in statuses of other implementations.
	RecordedGeneration int64 `json:"recordedGeneration,omitempty"`
	// inventory says where release and objects are, and what is left elsewhere. It is an addition to the API of Gardener Landscaper and absent in
	// statuses of other implementations.
	Inventory *managedresource.Inventory `json:"inventory,omitempty"`
	// Attempts counts failed attempts; recorded with remediation only.
	Attempts `json:",inline"`
	// tests are the results of the last run of the chart's tests; recorded with test only.
	Tests *TestStatus `json:"tests,omitempty"`
}

// ReleaseStatus is what is known of a release.
type ReleaseStatus struct {
	// name and Namespace of the release.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// revision of the release.
	Revision int `json:"revision"`
	// chartName, chartVersion and chartDigest identify the chart.
	ChartName    string `json:"chartName,omitempty"`
	ChartVersion string `json:"chartVersion,omitempty"`
	ChartDigest  string `json:"chartDigest,omitempty"`
	// source is the Flux source that the chart came from, if any.
	Source *v1alpha1.SourceStatus `json:"source,omitempty"`
	// inventory lists the objects of the revision without its hooks, as in a HelmRelease. It is absent where they are more than 5000.
	Inventory *ReleaseInventory `json:"inventory,omitempty"`
}

// ReleaseInventory lists objects, in the form of status.inventory of Flux.
type ReleaseInventory struct {
	// entries are the objects.
	Entries []InventoryEntry `json:"entries"`
}

// InventoryEntry names an object.
type InventoryEntry struct {
	// id is namespace, name, group and kind, joined by underscores; what is empty stays empty.
	ID string `json:"id"`
	// v of the group.
	Version string `json:"v"`
}

// Configuration is the configuration file of the helm deployer.
type Configuration struct {
	metav1.TypeMeta                     `json:",inline"`
	managedresource.CommonConfiguration `json:",inline"`
	// oci holds settings of the access to OCI registries.
	OCI *managedresource.OCIConfiguration `json:"oci,omitempty"`
	// export is accepted and ignored: the timeout of the DeployItem governs.
	Export *v1alpha1.AnyJSON `json:"export,omitempty"`
}
