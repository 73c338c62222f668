// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// validateRemediation checks the remediation in the settings of an operation; field is that of the settings.
func validateRemediation(field string, settings ReleaseSettings) error {
	remediation := settings.Remediation
	switch {
	case remediation == nil:
		return nil
	case remediation.Retries < -1:
		return fmt.Errorf("%s.remediation.retries: is less than -1; set it to -1, which means no limit, or more", field)
	case settings.Atomic:
		return fmt.Errorf("%s.atomic: contradicts remediation, which undoes failures too; set one of them", field)
	case settings.Retries != nil:
		return fmt.Errorf("%s.retries: contradicts remediation; set remediation.retries", field)
	}
	if field == installField && remediation.Strategy != "" {
		return fmt.Errorf("%s.remediation.strategy: is for upgrades only, a failed install is always uninstalled; remove it", field)
	}
	return oneOf(field+".remediation.strategy", remediation.Strategy, RemediationRollback, RemediationUninstall)
}

// validateRemediationKeys checks the keys of the remediation in the settings of an operation.
func validateRemediationKeys(field string, values map[string]landscaper.AnyJSON) error {
	raw := values["remediation"].RawMessage
	if unknown := document.Keys(raw, Remediation{}); len(unknown) > 0 {
		return fmt.Errorf("%s.remediation.%s; use only retries, remediateLastFailure, ignoreTestFailures and, for upgrades, strategy", field, unknown[0])
	}
	return nil
}

func validateTest(config *ProviderConfiguration) []error {
	test := config.Test
	if test == nil {
		return nil
	}
	var errs []error
	if test.Enable && !config.IsHelmDeployment() {
		errs = append(errs, errors.New("test.enable: needs a Helm release; remove helmDeployment: false, or do not enable tests"))
	}
	if len(test.Filters) > MaxTestFilters {
		errs = append(errs, fmt.Errorf("test.filters: has %d entries, more than %d; name only the tests to run, or only those to leave out",
			len(test.Filters), MaxTestFilters))
	}
	return append(errs, fault.ProblemsIn(len(test.Filters), func(i int) []error {
		return []error{require(fmt.Sprintf("test.filters[%d].name", i), test.Filters[i].Name)}
	})...)
}
