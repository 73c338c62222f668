// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations that users and controllers set.
const (
	// OperationAnnotation asks for an operation, see the Operation constants.
	OperationAnnotation = "landscaper.gardener.cloud/operation"
	// ReconcileIfChangedAnnotation, set to "true", starts a job whenever the spec or a referenced source changed; "false" starts none. It is also the
	// label of a namespace that says so for those without the annotation.
	ReconcileIfChangedAnnotation = "landscaper.gardener.cloud/reconcile-if-changed"
	// ReconcileIfImportsChangedAnnotation, set to "true", adds the content of the imports to what counts as a change.
	ReconcileIfImportsChangedAnnotation = "landscaper.gardener.cloud/reconcile-if-imports-changed"
	// ReconcileReasonAnnotation says why OperationReconcile was set; ReconcileReasonRetry keeps the retry counter.
	ReconcileReasonAnnotation = "landscaper.gardener.cloud/reconcile-reason"
	// ReconcileTimeAnnotation holds when a DeployItem's template was last applied.
	ReconcileTimeAnnotation = "landscaper.gardener.cloud/reconcile-time"
	// IgnoreAnnotation, set to "true", stops every work on the object.
	IgnoreAnnotation = "landscaper.gardener.cloud/ignore"
	// DeleteWithoutUninstallAnnotation, set to "true", leaves what was deployed in place when the object is deleted.
	DeleteWithoutUninstallAnnotation = "landscaper.gardener.cloud/delete-without-uninstall"
	// DeleteIgnoreSuccessorsAnnotation, set to "true", deletes although siblings still import the exports.
	DeleteIgnoreSuccessorsAnnotation = "landscaper.gardener.cloud/delete-ignore-successors"
	// ForceDeleteAnnotation, set to "true" on an Installation in deletion, takes it apart without uninstalling and without waiting for
	// anything. What stays behind is written to a ConfigMap with LeftBehindLabel. It is an addition to the API of Gardener Landscaper.
	ForceDeleteAnnotation = "landscaper.gardener.cloud/force-delete"
	// TargetTokensAnnotation on a ServiceAccount allows Targets of its namespace to act as it: "selfConfig" on the landscaper cluster,
	// "oidcConfig" on servers that such a Target names, or both, separated by a comma. Whoever may write Targets there gets its rights.
	TargetTokensAnnotation = "landscaper.gardener.cloud/tokens-for-targets"
	// TargetNamespacesAnnotation, on a Secret in the cluster of an Environment, lists the namespaces of the landscaper cluster, by comma or * for
	// all, whose Targets may refer to it by config.kubeconfig.secretRef. An addition to the API of Gardener Landscaper.
	TargetNamespacesAnnotation = "landscaper.gardener.cloud/target-namespaces"
	// ReleaseAgentAnnotation, set to "true" on an Environment in deletion, lets the agent remove its own finalizer once it has cleaned up. An
	// addition to the API of Gardener Landscaper.
	ReleaseAgentAnnotation = "landscaper.gardener.cloud/release-agent"
	// CacheHelmChartsAnnotation is passed on from an Installation to everything that it makes, for deployers of others; the helm deployer
	// caches charts with and without it.
	CacheHelmChartsAnnotation = "landscaper.gardener.cloud/cache-helm-charts"
	// DeployerTypeAnnotation repeats a DeployItem's type for deployers that read metadata only.
	DeployerTypeAnnotation = "landscaper.gardener.cloud/deployer-type"
	// DeployerTargetNameAnnotation repeats a DeployItem's target name, NoTargetName when there is none.
	DeployerTargetNameAnnotation = "landscaper.gardener.cloud/deployer-target-name"
	// OriginalTargetAnnotation, on copies of Targets and on DeployItems, is the name of the Target that a person or an export gave it. An addition to
	// the API of Gardener Landscaper.
	OriginalTargetAnnotation = "landscaper.gardener.cloud/original-target"
	// SubinstallationNameAnnotation is the name of the template that made a nested Installation.
	SubinstallationNameAnnotation = "landscaper.gardener.cloud/subinstallation-name"
	// DependsOnAnnotation lists what a DeployItem depends on, by comma.
	DependsOnAnnotation = "execution.landscaper.gardener.cloud/dependsOn"
	// HashAnnotation is the content hash of a managed DataObject or Target.
	HashAnnotation = "data.landscaper.gardener.cloud/hash"
	// EnvironmentAnnotation names the environment a Target belongs to.
	EnvironmentAnnotation = "landscaper.gardener.cloud/environment"
	// DeployerOnlyAnnotation, set to "true" on the Target of an environment's host cluster, keeps it for the helm deployer of the agent.
	DeployerOnlyAnnotation = "landscaper.gardener.cloud/deployer-only"
	// AgentVersionAnnotation, on the Lease of an agent, is its version.
	AgentVersionAnnotation = "landscaper.gardener.cloud/agent-version"
	// ContinuousReconcileActiveAnnotation, set to "false" on a DeployItem, keeps the clock from starting jobs of it.
	ContinuousReconcileActiveAnnotation = "continuousreconcile.extensions.landscaper.gardener.cloud/active"
	// ClusterNameAnnotation, on a DeployItem with spec.onDelete.skipUninstallIfClusterRemoved, names the Shoot that it deploys to.
	ClusterNameAnnotation = "landscaper.gardener.cloud/clustername"
	// RotateTokenAnnotation on a TargetSync asks for a new token in the Secret with the access to the source cluster.
	RotateTokenAnnotation = "landscaper.gardener.cloud/rotate-token"
	// LastTargetSyncAnnotation, on a Target that a TargetSync made for a Shoot, is when its kubeconfig was last renewed, as RFC 3339.
	LastTargetSyncAnnotation = "landscaper.gardener.cloud/lasttargetsync"
	// JobAnnotation, on an Execution or nested Installation, is the job of the parent for which its spec was written. The child starts
	// this job by itself. It is an addition to the API of Gardener Landscaper.
	JobAnnotation = "landscaper.gardener.cloud/job"
)

// NoTargetName is the value of DeployerTargetNameAnnotation for DeployItems without target.
const NoTargetName = ".noTargetName"

// ContinuousJobPrefix is how the IDs of jobs begin that a DeployItem gives itself, by the clock or because its source offers something new. They give way to jobs of its Execution.
const ContinuousJobPrefix = "continuous-"

// Operations that OperationAnnotation asks for.
const (
	// OperationReconcile starts a job on a root Installation.
	OperationReconcile = "reconcile"
	// OperationInterrupt ends the running job as failed.
	OperationInterrupt = "interrupt"
	// OperationTestReconcile makes a deployer process a DeployItem without a job of its Execution.
	OperationTestReconcile = "test-reconcile"
	// ReconcileReasonRetry is the ReconcileReasonAnnotation of automatic retries.
	ReconcileReasonRetry = "retry"
)

// Labels that controllers set on the objects they manage.
const (
	// EncompassedByLabel names the parent of a nested Installation.
	EncompassedByLabel = "landscaper.gardener.cloud/encompassed-by"
	// ExecutionManagedByLabel names the Execution of a DeployItem.
	ExecutionManagedByLabel = "execution.landscaper.gardener.cloud/managed-by"
	// ExecutionManagedNameLabel names a DeployItem inside its Execution.
	ExecutionManagedNameLabel = "execution.landscaper.gardener.cloud/name"
	// DataObjectContextLabel is the scope of a DataObject or Target: Inst.<installation> or Exec.<execution>.
	DataObjectContextLabel = "data.landscaper.gardener.cloud/context"
	// DataObjectKeyLabel is the import or export key.
	DataObjectKeyLabel = "data.landscaper.gardener.cloud/key"
	// DataObjectSourceLabel names what wrote the object, in the form of the context label.
	DataObjectSourceLabel = "data.landscaper.gardener.cloud/source"
	// DataObjectSourceTypeLabel is DataObjectSourceImport or DataObjectSourceExport.
	DataObjectSourceTypeLabel = "data.landscaper.gardener.cloud/sourceType"
	// DataObjectIndexLabel is the position in a target list.
	DataObjectIndexLabel = "data.landscaper.gardener.cloud/index"
	// DataObjectTargetMapKeyLabel is the key in a target map.
	DataObjectTargetMapKeyLabel = "data.landscaper.gardener.cloud/targetmapkey"
	// DataObjectJobIDLabel is the job that wrote the object.
	DataObjectJobIDLabel = "data.landscaper.gardener.cloud/jobid"
	// ManifestDeployItemLabel, on deployed objects, names the DeployItem that owns them.
	ManifestDeployItemLabel = "manifest.deployer.landscaper.gardener.cloud/deployitem"
	// HelmDeployItemLabel, on objects of rendered charts, names the DeployItem that owns them.
	HelmDeployItemLabel = "helm.deployer.landscaper.gardener.cloud/deployitem"
	// LeftBehindLabel, on a ConfigMap, names the Installation whose deletion by force left behind what the ConfigMap lists; as annotation it
	// holds the UID.
	LeftBehindLabel = "landscaper.gardener.cloud/left-behind"
	// DeployerEnvironmentLabel, on the objects of a deployer that a DeployerRegistration installs, names its Environment. On a namespace it says
	// that the namespace is for that Environment.
	DeployerEnvironmentLabel = "deployers.landscaper.gardener.cloud/environment"
	// DeployerRegistrationLabel, beside DeployerEnvironmentLabel, names the DeployerRegistration.
	DeployerRegistrationLabel = "deployers.landscaper.gardener.cloud/deployer-registration"
	// TargetSyncLabel, with the value TargetSyncOK, marks the Targets and Secrets that a TargetSync made.
	TargetSyncLabel = "landscaper.gardener.cloud/targetsync"
	// SkipValidationLabel, set to "true", makes the admission webhooks skip the object.
	SkipValidationLabel = "validation.landscaper.gardener.cloud/skip-validation"
)

// TargetSyncOK is the value of TargetSyncLabel.
const TargetSyncOK = "ok"

// Values of DataObjectSourceTypeLabel.
const (
	// DataObjectSourceImport marks copies of imports.
	DataObjectSourceImport = "import"
	// DataObjectSourceExport marks exports.
	DataObjectSourceExport = "export"
)

// Finalizer keeps Installations, Executions, DeployItems and TargetSyncs until their controller has cleaned up.
const Finalizer = "finalizer.landscaper.gardener.cloud"

// InUseFinalizer keeps Targets, Contexts, Secrets and ConfigMaps that Flux prunes until everything deployed through them is uninstalled. An
// addition to the API of Gardener Landscaper.
const InUseFinalizer = "inuse.landscaper.gardener.cloud/finalizer"

// DeployerManagementFinalizer keeps Environments and DeployerRegistrations until the Installations of their deployers are gone, and those
// Installations until the rights of the deployers are.
const DeployerManagementFinalizer = "finalizer.deployermanagement.landscaper.gardener.cloud"

// AgentFinalizer keeps an Environment until an administrator has uninstalled its agent, and removes it.
const AgentFinalizer = "finalizer.agent.landscaper.gardener.cloud"

// AgentLeasePrefix begins the name of the Lease that the agent of an environment renews, in the namespace of that Environment. The name of
// the Environment follows.
const AgentLeasePrefix = "landscaper-agent-"

// DeployerLeasePrefix begins the name of the Lease that a deployer renews while it works. An addition to the API of Gardener Landscaper.
const DeployerLeasePrefix = "landscaper-deployer-"

// DeployerLeaseLabel marks the Leases of deployers. An addition to the API of Gardener Landscaper.
const DeployerLeaseLabel = "landscaper.gardener.cloud/deployer-lease"

// DeployerServesAnnotation, on the Lease of a deployer, is JSON that says which DeployItems it carries out: types, and where it does not take all of
// them, targetSelectors, targetsOnly, namespaces and labelSelector. An addition to the API of Gardener Landscaper.
const DeployerServesAnnotation = "landscaper.gardener.cloud/deployer-serves"

// EnvironmentNamespacePrefix begins the name of the namespace of the landscaper cluster that belongs to an Environment. The name of the Environment
// follows. An addition to the API of Gardener Landscaper.
const EnvironmentNamespacePrefix = "ls-env-"

// AllowedNamespacesAnnotation, on the namespace of an Environment, lists the namespaces in which its deployers may work, by comma or * for all. An
// addition to the API of Gardener Landscaper.
const AllowedNamespacesAnnotation = "deployers.landscaper.gardener.cloud/allowed-namespaces"

// AgentConnectedCondition is the condition of Environments that says whether the agent gives signs of life.
const AgentConnectedCondition = "AgentConnected"

// KubernetesClusterTargetType is the only Target type with built-in meaning.
const KubernetesClusterTargetType = "landscaper.gardener.cloud/kubernetes-cluster"

// Types of the DeployItems that the four built-in deployers carry out.
const (
	// HelmDeployItemType is carried out by the helm deployer.
	HelmDeployItemType = "landscaper.gardener.cloud/helm"
	// ManifestDeployItemType is carried out by the manifest deployer.
	ManifestDeployItemType = "landscaper.gardener.cloud/kubernetes-manifest"
	// ContainerDeployItemType is carried out by the container deployer.
	ContainerDeployItemType = "landscaper.gardener.cloud/container"
	// MockDeployItemType is carried out by the mock deployer.
	MockDeployItemType = "landscaper.gardener.cloud/mock"
)

// DefaultContextName is the Context of objects that name none.
const DefaultContextName = "default"
