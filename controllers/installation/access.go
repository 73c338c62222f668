// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
)

const (
	// reasonUnauthorized says that a registry refused the logins of the Context.
	reasonUnauthorized = "Unauthorized"
	// reasonInvalidContext says that the content of a Context, or of what it names, cannot be used.
	reasonInvalidContext = "InvalidContext"
)

// accessReasons are the ways in which a job fails that another content of the Context, or of what it names, may end.
var accessReasons = map[string][]string{
	reasonUnauthorized:   {jobs.ComponentOperation, jobs.SatisfyOperation, jobs.RenderOperation, jobs.ExportOperation},
	reasonInvalidContext: {jobs.ContextOperation},
}

// changedContext tells what the Context brought that may end the failure of the last job, be it that of a sub-installation.
func (r *Reconciler) changedContext(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if jobs.FailedBelow(inst) {
		return r.changedBelow(ctx, inst)
	}
	return r.changedContextOf(ctx, inst)
}

// changedContextOf tells the same of the Installation alone.
func (r *Reconciler) changedContextOf(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	last := inst.Status.LastError
	switch {
	case inst.Status.Phase != v1alpha1.PhaseFailed || last == nil:
		return "", nil
	case last.Reason == jobs.ReasonBeyondImports:
		access, err := r.accessOf(ctx, inst)
		return reasonIf(access == v1alpha1.BlueprintAccessNamespace, "blueprints may use the namespace now"), err
	case last.Operation == jobs.ContextOperation && last.Reason == jobs.ReasonContextIncomplete:
		arrived, err := r.contextArrived(ctx, inst)
		return reasonIf(arrived, "what the Context was missing is there"), err
	case slices.Contains(accessReasons[last.Reason], last.Operation):
		changed, err := r.accessChanged(ctx, inst)
		return reasonIf(changed, "the Context, or a Secret that it names, changed"), err
	}
	return "", nil
}

// changedBelow tells the same of the sub-installations at any depth: they fail by themselves, but only their root starts another job.
func (r *Reconciler) changedBelow(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	below, err := r.causesBelow(ctx, inst)
	if err != nil {
		return "", err
	}
	for _, child := range below {
		if reason, err := r.changedContextOf(ctx, child); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// causesBelow returns the sub-installations at any depth but for those that have failed because of one below them.
func (r *Reconciler) causesBelow(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	var causes []*v1alpha1.Installation
	seen := map[types.UID]bool{inst.UID: true}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		children := &v1alpha1.InstallationList{}
		below := client.MatchingFields{relations.ParentIndex: queue[0].Name}
		if err := r.List(ctx, children, client.InNamespace(inst.Namespace), below, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range children.Items {
			child := &children.Items[i]
			if seen[child.UID] || relations.IsListed(queue[0], child) != nil {
				continue
			}
			seen[child.UID] = true
			if jobs.FailedBelow(child) {
				queue = append(queue, child)
				continue
			}
			causes = append(causes, child)
		}
	}
	return causes, nil
}

// accessChanged reports whether an Installation may use something else now than its failed job did. Parts that are missing now count as
// unchanged: their next event comes back here. After a restart nobody knows what the job used, so the registry is asked.
func (r *Reconciler) accessChanged(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	c, err := r.contextOf(ctx, inst)
	if err != nil {
		return false, transientOnly(err)
	}
	secrets, err := r.registrySecrets(ctx, c)
	var identity *cloud.Error
	switch {
	case errors.As(err, &identity):
		return !strings.Contains(inst.Status.LastError.Message, identity.Error()), nil
	case err != nil:
		return false, transientOnly(err)
	}
	if before, known := r.tried.entries().Get(inst.UID); known {
		return before != fingerprint(c, secrets), nil
	}
	found, err := r.findComponent(ctx, inst, c)
	if err == nil {
		found.session.Close()
	}
	return reasonOf(err) != inst.Status.LastError.Reason, nil
}

// reasonOf says in one word why a component was not found; "" if it was.
func reasonOf(err error) string {
	var failure *kit.Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failure):
		return failure.Reason
	}
	reason, _ := repositoryReason(err)
	return reason
}

// withTrigger adds to an error about access what else there is to do for an Installation that does not follow changes.
func (in *reading) withTrigger(err error) error {
	if !in.inst.IsRoot() || jobs.FollowsChanges(in.inst) {
		return err
	}
	return fmt.Errorf("%w; then annotate the installation with %s=%s", err, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}

// triedAccess remembers by UID of the Installation what it last used to look its component up.
type triedAccess struct {
	once  sync.Once
	byUID *lru.Cache[types.UID, [sha256.Size]byte]
}

// rememberedAccess is for how many Installations that is remembered.
const rememberedAccess = 1 << 14

func (t *triedAccess) entries() *lru.Cache[types.UID, [sha256.Size]byte] {
	t.once.Do(func() { t.byUID, _ = lru.New[types.UID, [sha256.Size]byte](rememberedAccess) })
	return t.byUID
}

func (t *triedAccess) note(inst *v1alpha1.Installation, c *installationContext, secrets *registrySecrets) {
	t.entries().Add(inst.UID, fingerprint(c, secrets))
}

// fingerprint is equal for equal content of a Context and of what it names. It stays in this process.
func fingerprint(c *installationContext, secrets *registrySecrets) [sha256.Size]byte {
	identity := ""
	if secrets.identity != nil {
		identity = secrets.identity.Fingerprint()
	}
	raw, _ := json.Marshal([]any{c.object.ContextConfiguration, c.overwrites, secrets.pull, secrets.config, identity})
	return sha256.Sum256(raw)
}
