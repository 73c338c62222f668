// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

// Environment variables of every container of a Pod.
const (
	// ImportsPath is the file with the imports, as JSON.
	ImportsPath = "IMPORTS_PATH"
	// ExportsPath is the file that the user's program may write, as JSON or YAML.
	ExportsPath = "EXPORTS_PATH"
	// ComponentDescriptorPath is the file with the component and all that it refers to.
	ComponentDescriptorPath = "COMPONENT_DESCRIPTOR_PATH"
	// TargetPath is the file with the target and its content.
	TargetPath = "TARGET_PATH"
	// ContentPath is the directory with the files of the blueprint.
	ContentPath = "CONTENT_PATH"
	// StatePath is the directory that is kept from one run to the next.
	StatePath = "STATE_PATH"
	// PodName and PodNamespace say which Pod it is.
	PodName      = "POD_NAME"
	PodNamespace = "POD_NAMESPACE"
)

// Environment variables of single containers.
const (
	// Operation tells the user's program what to do: RECONCILE or DELETE.
	Operation = "OPERATION"
	// ConfigurationPath is the file with the provider configuration, for init.
	ConfigurationPath = "CONFIGURATION_PATH"
	// TargetSourcePath is the file that init copies to TargetPath; it is missing where the DeployItem names no target.
	TargetSourcePath = "TARGET_SOURCE_PATH"
	// SupplyPath is the directory with the pieces of the archive that holds component descriptors and content, for init.
	SupplyPath = "SUPPLY_PATH"
	// StateSourcePath is the directory with the pieces of the archive that holds the last state, for init.
	StateSourcePath = "STATE_SOURCE_PATH"
	// ItemName and ItemNamespace are those of the DeployItem, for init and wait.
	ItemName      = "DEPLOY_ITEM_NAME"
	ItemNamespace = "DEPLOY_ITEM_NAMESPACE"
	// PodUID tells this Pod from one of the same name before, for wait.
	PodUID = "POD_UID"
	// ExportSecret is the name of the Secret that wait writes exports to.
	ExportSecret = "EXPORT_SECRET"
	// StateSecrets is how the names of the Secrets begin that wait writes the state to; a number follows.
	StateSecrets = "STATE_SECRETS"
	// StateSequence is the number of the state that wait saves; 1 is the first one.
	StateSequence = "STATE_SEQUENCE"
	// StateLimit is how many Secrets a state may take, that of before included.
	StateLimit = "STATE_LIMIT"
	// StateBytes is how large a state may be before it is compressed.
	StateBytes = "STATE_BYTES"
	// ObjectLabels are the labels of the Secrets that wait writes, as JSON.
	ObjectLabels = "OBJECT_LABELS"
)

// Paths in the containers.
const (
	Base = "/data/ls"
	// Shared is the volume that all containers have.
	Shared = Base + "/shared"
	// Imports, Exports, ComponentDescriptor, Target, Content and State are the values of the environment variables.
	Imports             = Shared + "/imports/import.json"
	Exports             = Shared + "/exports/values"
	ComponentDescriptor = Shared + "/" + ComponentDescriptorFile
	Target              = Shared + "/targets/target.json"
	Content             = Shared + "/" + ContentDirectory
	State               = Shared + "/state"
	// Internal, Targets, Supply and StateSource are only in init.
	Internal      = Base + "/internal"
	Configuration = Internal + "/" + ConfigurationKey
	Targets       = Base + "/targets"
	TargetSource  = Targets + "/" + TargetKey
	Supply        = Base + "/supply"
	StateSource   = Base + "/state"
)

// Names inside the archive that becomes ComponentDescriptor and Content.
const (
	ComponentDescriptorFile = "component_descriptor.json"
	ContentDirectory        = "content"
)

// Keys of Secrets.
const (
	ConfigurationKey = "configuration.json"
	TargetKey        = "target.json"
	// ExportKey holds exports as JSON, PieceKey a piece of an archive.
	ExportKey = "config"
	PieceKey  = "data"
)

// Names of the containers.
const (
	InitContainer = "init"
	MainContainer = "main"
	WaitContainer = "wait"
)

const prefix = "container.deployer.landscaper.gardener.cloud/"

// Labels, annotations and the finalizer of objects on the host cluster.
const (
	// DeployerID tells the objects of one deployer from those of another.
	DeployerID = prefix + "deployer-id"
	// Name is that of the deployer.
	Name = prefix + "name"
	// Type says what a Secret holds.
	Type = prefix + "type"
	// ItemNameLabel, ItemNamespaceLabel and ItemGeneration are those of the DeployItem, shortened where they are too long for a label.
	ItemNameLabel      = "deployitem." + prefix + "name"
	ItemNamespaceLabel = "deployitem." + prefix + "namespace"
	ItemGeneration     = "deployitem." + prefix + "generation"
	// Item is the annotation with namespace/name of the DeployItem.
	Item = "deployitem." + prefix + "item"
	// Job is the annotation with the job that an object belongs to.
	Job = prefix + "job"
	// Hash is the annotation with the digest of what an object was made from.
	Hash = prefix + "hash"
	// UUID is the annotation with the UID of the Pod that wrote a Secret.
	UUID = prefix + "uuid"
	// Num is the number of a piece, Count how many there are, Sequence the number of the state.
	Num      = prefix + "num"
	Count    = prefix + "count"
	Sequence = prefix + "sequence"
	// Size is the annotation of a piece with its number of bytes.
	Size = prefix + "size"
	// HostCredentials is the annotation of a target with credentials of the host cluster, which must not leave it.
	HostCredentials = prefix + "host-credentials"
	// Sources is the annotation of a Pod with the Flux sources that it was made from, as JSON.
	Sources = prefix + "sources"
	// Finalizer keeps a Pod until its result is read.
	Finalizer = prefix + "finalizer"
	// ForceCleanup is the annotation of a DeployItem that is deleted without running its container.
	ForceCleanup = prefix + "force-cleanup"
	// Operation of a Pod.
	OperationAnnotation = prefix + "operation"
)

// Values of Type.
const (
	TypeConfig   = "config"
	TypeTarget   = "target"
	TypeContent  = "content"
	TypePull     = "imgpullsec"
	TypeExport   = "export"
	TypeState    = "state"
	TypeIdentity = "identity"
)

// PieceBytes is how much of an archive one Secret holds.
const PieceBytes = 1 << 20
