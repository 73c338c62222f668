// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// claim is a sub-installation that says which template it was made from.
func claim(name, template string, change ...func(*v1alpha1.Installation)) *v1alpha1.Installation {
	child := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1000, 0)}}
	if template != "" {
		child.Annotations = map[string]string{v1alpha1.SubinstallationNameAnnotation: template}
	}
	for _, apply := range change {
		apply(child)
	}
	return child
}

func deleting(child *v1alpha1.Installation) {
	child.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)}
}

func older(child *v1alpha1.Installation) { child.CreationTimestamp = metav1.Unix(500, 0) }

func TestE18SubinstallationsAreFoundByTheirAnnotation(t *testing.T) {
	deterministic := childName("root", "a")
	for name, tc := range map[string]struct {
		children []*v1alpha1.Installation
		listed   string
		want     string
		problem  string
	}{
		"none":                            {want: deterministic},
		"generated name":                  {children: []*v1alpha1.Installation{claim("a-x7f2k", "a")}, want: "a-x7f2k"},
		"our name":                        {children: []*v1alpha1.Installation{claim(deterministic, "a")}, want: deterministic},
		"our name, annotation taken away": {children: []*v1alpha1.Installation{claim(deterministic, "")}, want: deterministic},
		"of another template":             {children: []*v1alpha1.Installation{claim("a-x7f2k", "b")}, want: deterministic},
		"dangling":                        {children: []*v1alpha1.Installation{claim("a-x7f2k", "")}, problem: "a-x7f2k belongs to this one but has no annotation"},
		"the one that stays":              {children: []*v1alpha1.Installation{claim("a-1", "a", deleting, older), claim("a-2", "a")}, listed: "a-1", want: "a-2"},
		"the listed one":                  {children: []*v1alpha1.Installation{claim("a-1", "a", older), claim("a-2", "a")}, listed: "a-2", want: "a-2"},
		"the oldest":                      {children: []*v1alpha1.Installation{claim("a-1", "a"), claim("a-2", "a", older)}, want: "a-2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := familyOf(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}})
			if tc.listed != "" {
				f.Inst.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{SpecName: "a", ObjectName: tc.listed}}}
			}
			for _, child := range tc.children {
				f.Children[child.Name] = child
			}
			pairs, err := f.pairs([]model.InstallationTemplate{{Name: "a"}})
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []v1alpha1.SubNamePair{{SpecName: "a", ObjectName: tc.want}}, pairs)
		})
	}
}

func TestE13SubinstallationsOfAFormerInstallationAreNone(t *testing.T) {
	inst, former := fixture.Working("root", "new", "job"), fixture.Working("root", "former", "job")
	f := familyOf(inst)
	k := keeper(t, fixture.Below(inst, claim("own", "a")), fixture.Below(former, claim("left", "b")))
	require.NoError(t, k.FindChildren(t.Context(), f))
	assert.Equal(t, []string{"own"}, slices.Sorted(maps.Keys(f.Children)))
}

func TestE13ANameThatIsTaken(t *testing.T) {
	inst, former := fixture.Working("root", "new", "job"), fixture.Working("root", "former", "job")
	for name, tc := range map[string]struct {
		exists *v1alpha1.Installation
		kind   kit.FailureKind
		reason string
	}{
		"by one of a former Installation": {fixture.Below(former, claim("a", "a")), kit.Waiting, "SubinstallationDeleting"},
		"by one of a person":              {claim("a", "a"), kit.Stalled, "InstallationExists"},
		"by one of another parent":        {fixture.Below(fixture.Working("other", "2", ""), claim("a", "a")), kit.Stalled, "InstallationExists"},
		"by an own one in deletion":       {fixture.Below(inst, claim("a", "a", deleting)), kit.Retry, "SubinstallationDeleting"},
	} {
		t.Run(name, func(t *testing.T) {
			err := keeper(t).meetExisting(t.Context(), familyOf(inst), tc.exists, claim("a", "a"))
			failure := kit.AsFailure(jobs.Operation, err)
			assert.Equal(t, tc.kind, failure.Kind)
			assert.Equal(t, tc.reason, failure.Reason)
		})
	}
}

// TestManySubinstallationsAreSortedOnce counts what is allocated: each sort of its own makes a list of all names.
func TestManySubinstallationsAreSortedOnce(t *testing.T) {
	const many = 200
	f := familyOf(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}})
	var templates []model.InstallationTemplate
	for i := range many {
		name := "t" + strconv.Itoa(i)
		templates = append(templates, model.InstallationTemplate{Name: name})
		f.Children["sub-"+name] = claim("sub-"+name, name)
	}
	pairs, err := f.pairs(templates)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.SubNamePair{SpecName: "t7", ObjectName: "sub-t7"}, pairs[7])
	assert.Less(t, testing.AllocsPerRun(1, func() { _, _ = f.pairs(templates) }), 6.0*many)
}
