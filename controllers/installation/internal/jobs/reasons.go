// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

// What lastError.operation names.
const (
	// Operation is of everything that has none of its own.
	Operation = "Reconcile"
	// OrderOperation is of waiting for siblings.
	OrderOperation = "Order"
	// ContextOperation is of reading the Context.
	ContextOperation = "Context"
	// ComponentOperation is of everything that is wrong with a component.
	ComponentOperation = "Component"
	// ImportOperation is of reading imports.
	ImportOperation = "Imports"
	// SatisfyOperation is of everything that rendering finds wrong with the imports.
	SatisfyOperation = "SatisfyImports"
	// RenderOperation is of everything that rendering finds wrong with the rest of the blueprint.
	RenderOperation = "Render"
	// VerifyOperation is of verifying signatures.
	VerifyOperation = "VerifySignature"
	// ExportOperation is of computing and writing exports.
	ExportOperation = "Exports"
)

// Reasons by which a job fails, where they decide on what follows.
const (
	// ReasonPredecessorFailed says that a sibling which exports what is imported has failed.
	ReasonPredecessorFailed = "PredecessorFailed"
	// ReasonPredecessorUnready says that such a sibling is at work.
	ReasonPredecessorUnready = "NotCompletedDependents"
	// ReasonCyclicDependencies says that data flows in a circle.
	ReasonCyclicDependencies = "CyclicDependencies"
	// ReasonSiblingStillImports says that a sibling imports what is exported.
	ReasonSiblingStillImports = "SiblingImport"
	// ReasonSiblingDeleteError says that such a sibling could not be deleted.
	ReasonSiblingDeleteError = "SiblingDeleteError"
	// ReasonContextIncomplete says that the Context or something that it names is missing. Its next event comes back here.
	ReasonContextIncomplete = "ContextIncomplete"
	// ReasonImportNotFound says that an import is missing, or not what it has to be.
	ReasonImportNotFound = "ImportNotFound"
	// ReasonBeyondImports says that a blueprint uses something that its Installation does not import.
	ReasonBeyondImports = "BeyondImports"
	// ReasonExportOwnedByOther says that another Installation exports an object of the same name.
	ReasonExportOwnedByOther = "ExportOwnedByOther"
	// ReasonUnverified says that nothing trusted vouches for a component or a blueprint.
	ReasonUnverified = "VerificationFailed"
	// ReasonChildrenFailed says that sub-installations have failed.
	ReasonChildrenFailed = "ChildrenFailed"
)
