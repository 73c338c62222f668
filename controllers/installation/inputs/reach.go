// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// What a person can do instead.
const (
	nameImport     = "import it in the Installation and the blueprint, and name that import"
	nameTarget     = "import that Target, and name it by metadata.name of the import"
	nameExport     = "choose a name without #"
	passImported   = "pass a Target of .imports"
	exportImported = "import a Target with this content, or export one with a kubeconfig of its own"
	importContent  = "import the content by spec.imports.data of the Installation, and put it into the config"
	leaveAccount   = "remove it, or name the ServiceAccount in the Target"
)

// Reach is what the blueprint of one Installation may use of the namespace. Sub-installations get their imports from their parent, so what holds
// for each of them holds for the tree.
type Reach struct {
	// onlyImports limits it to what the Installation imports.
	onlyImports bool
	// installation and context are for messages.
	installation, context client.ObjectKey
	// Targets are those that are imported, by object name.
	Targets map[string]*v1alpha1.Target
	// contents are what they lead to, nil before somebody has asked.
	contents map[contentKey]bool
}

// refused says which field names what the blueprint may not use, and what to do instead.
func (s *Reach) refused(where, field, cure string) error {
	return fmt.Errorf("installation %s: %s: %s is not among its imports, and its blueprint may use nothing else; %s, or set blueprintAccess: %s in Context %s",
		s.installation, where, field, cure, v1alpha1.BlueprintAccessNamespace, s.context)
}

// stall makes a refusal the end of the job.
func (s *Reach) stall(operation, where, field, cure string) error {
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: operation, Reason: jobs.ReasonBeyondImports, Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem},
		Err: s.refused(where, field, cure),
	}
}

// CheckItems refuses deploy items that use Targets, Secrets or ServiceAccounts that are not imported.
func (s *Reach) CheckItems(ctx context.Context, live client.Reader, items []v1alpha1.DeployItemTemplate) error {
	if !s.onlyImports {
		return nil
	}
	for i := range items {
		item := &items[i]
		field, cure := s.configBeyond(item.Configuration)
		if field == "" {
			var err error
			if field, cure, err = s.targetBeyond(ctx, live, item); err != nil {
				return err
			}
		}
		if field != "" {
			return s.stall(jobs.RenderOperation, fmt.Sprintf("deploy item %q", item.Name), field, cure)
		}
	}
	return nil
}

// targetBeyond returns the field of a deploy item that names a Target, or an account of one, that is not imported.
func (s *Reach) targetBeyond(ctx context.Context, live client.Reader, item *v1alpha1.DeployItemTemplate) (field, cure string, err error) {
	if item.Target == nil {
		return "", "", nil
	}
	imported := s.Targets[item.Target.Name]
	switch {
	case imported == nil:
		return fmt.Sprintf("target.name %q", item.Target.Name), nameImport, nil
	case item.ServiceAccountName == "" || item.ServiceAccountName == imported.Spec.ServiceAccountName:
		return "", "", nil
	}
	content, err := target.Content(ctx, live, imported)
	if protocol.IsTransient(err) {
		return "", "", err
	}
	if err == nil && target.LeavesAccountOpen(content) {
		return fmt.Sprintf("serviceAccountName %q", item.ServiceAccountName), leaveAccount, nil
	}
	return "", "", nil // what else is wrong with the content, the deployer says
}

// namingFields are those of configurations of deployers that name Secrets and ConfigMaps of the namespace.
var namingFields = []string{"valuesFrom", "registryPullSecrets"}

// targetFields are those of configurations of deployers below which targetName names another Target of the namespace.
var targetFields = []string{"readinessChecks", "exports", "exportsFromManifests", "deletionGroups", "deletionGroupsDuringUpdate"}

// freeFields are those below targetFields with keys that authors choose: a targetName there is no reference.
var freeFields = []string{"requirements", "matchLabels"}

// configBeyond returns the field of a configuration that names what is not imported: Secrets, ConfigMaps, or another Target.
func (s *Reach) configBeyond(config *runtime.RawExtension) (field, cure string) {
	var fields map[string]json.RawMessage
	if config == nil || json.Unmarshal(config.Raw, &fields) != nil {
		return "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := string(bytes.TrimSpace(fields[key]))
		if naming := foldedIn(namingFields, key); naming != "" && value != "null" && value != "[]" {
			return "what config." + naming + " names", importContent
		}
		var content any
		if naming := foldedIn(targetFields, key); naming != "" && json.Unmarshal(fields[key], &content) == nil {
			if name := s.targetNameBeyond(content); name != "" {
				return fmt.Sprintf("targetName %q in config.%s", name, naming), nameTarget
			}
		}
	}
	return "", ""
}

// targetNameBeyond returns the first targetName anywhere in a part of a configuration that is not the name of an imported Target.
func (s *Reach) targetNameBeyond(part any) string {
	switch part := part.(type) {
	case []any:
		for _, entry := range part {
			if name := s.targetNameBeyond(entry); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(part)) {
			if name, ok := part[key].(string); ok && strings.EqualFold(key, "targetName") && name != "" && s.Targets[name] == nil {
				return name
			}
			if foldedIn(freeFields, key) != "" {
				continue
			}
			if name := s.targetNameBeyond(part[key]); name != "" {
				return name
			}
		}
	}
	return ""
}

// foldedIn returns the field of a list that a key of JSON may stand for: decoders take other cases, too.
func foldedIn(fields []string, key string) string {
	for _, field := range fields {
		if strings.EqualFold(field, key) {
			return field
		}
	}
	return ""
}

// CheckTemplates refuses sub-installations that name objects of the namespace.
func (s *Reach) CheckTemplates(templates []model.InstallationTemplate) error {
	if !s.onlyImports {
		return nil
	}
	for i := range templates {
		where := fmt.Sprintf("sub-installation %q", templates[i].Name)
		if field := importedBeyond(&templates[i].Imports); field != "" {
			return s.stall(jobs.RenderOperation, where, field, nameImport)
		}
		if field := exportedBeyond(&templates[i].Exports); field != "" {
			return s.stall(jobs.RenderOperation, where, field, nameExport)
		}
	}
	return nil
}

// isOfNamespace reports whether a name leads out of the scope of an Installation.
func isOfNamespace(name string) bool { return strings.HasPrefix(name, "#") }

// importedBeyond returns the first import that names an object of the namespace, as a field with its value.
func importedBeyond(imports *v1alpha1.InstallationImports) string {
	for i := range imports.Data {
		if name := imports.Data[i].DataRef; isOfNamespace(name) {
			return fmt.Sprintf("imports.data[%d].dataRef %q", i, name)
		}
	}
	for i := range imports.Targets {
		for _, name := range relations.TargetNames(&imports.Targets[i]) {
			if isOfNamespace(name) {
				return fmt.Sprintf("imports.targets[%d] (import %q) %q", i, imports.Targets[i].Name, name)
			}
		}
	}
	return ""
}

// exportedBeyond returns the first export that would be written into the namespace instead of the scope of the parent.
func exportedBeyond(exports *v1alpha1.InstallationExports) string {
	for i := range exports.Data {
		if name := exports.Data[i].DataRef; isOfNamespace(name) {
			return fmt.Sprintf("exports.data[%d].dataRef %q", i, name)
		}
	}
	for i := range exports.Targets {
		if name := exports.Targets[i].Target; isOfNamespace(name) {
			return fmt.Sprintf("exports.targets[%d].target %q", i, name)
		}
	}
	return ""
}

// CheckExports refuses Targets that take their credentials from where only an imported Target may.
func (s *Reach) CheckExports(ctx context.Context, exports *render.ExportValues) error {
	for _, name := range slices.Sorted(maps.Keys(exports.Targets)) {
		made := exports.Targets[name]
		spec := &v1alpha1.TargetSpec{Configuration: made.Configuration, SecretRef: made.SecretRef, ServiceAccountName: made.ServiceAccountName}
		field, err := s.beyond(ctx, spec)
		if err != nil {
			return err
		}
		if field != "" {
			return s.stall(jobs.ExportOperation, fmt.Sprintf("target export %q", name), field, exportImported)
		}
	}
	return nil
}

// beyond returns the field of a Target that a template has made which takes its credentials from somewhere else than the Target, unless an
// imported Target has the same there.
func (s *Reach) beyond(ctx context.Context, made *v1alpha1.TargetSpec) (string, error) {
	if s == nil || !s.onlyImports {
		return "", nil
	}
	field := ""
	switch {
	case made.SecretRef != nil:
		field = "spec.secretRef"
	case made.Configuration != nil:
		field = target.CredentialsElsewhere(made.Configuration.RawMessage)
	}
	if field == "" {
		return "", nil
	}
	isImported, err := s.imports(ctx, made)
	if err != nil || isImported {
		return "", err
	}
	return field, nil
}

// imports reports whether an imported Target leads to the same credentials as one that a template has made. What is imported is read once.
func (s *Reach) imports(ctx context.Context, made *v1alpha1.TargetSpec) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if s.contents == nil {
		s.contents = map[contentKey]bool{}
		for _, imported := range s.Targets {
			if key, ok := contentKeyOf(&imported.Spec); ok {
				s.contents[key] = true
			}
		}
	}
	key, ok := contentKeyOf(made)
	return ok && s.contents[key], nil
}

// contentKey stands for the credentials that a Target leads to.
type contentKey [sha256.Size]byte

// contentKeyOf returns the same for Targets whose credentials are the same JSON, in whatever order and with whatever spaces; false where they are
// no JSON.
func contentKeyOf(spec *v1alpha1.TargetSpec) (contentKey, bool) {
	raw, err := json.Marshal([]any{spec.Configuration, spec.SecretRef, spec.ServiceAccountName})
	if err != nil {
		return contentKey{}, false
	}
	var content any
	if json.Unmarshal(raw, &content) != nil {
		return sha256.Sum256(raw), true // a number that no float can be: the same as itself
	}
	sorted, err := json.Marshal(content)
	return sha256.Sum256(sorted), err == nil
}
