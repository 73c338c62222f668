// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// MaterialsType is the media type of a bill of materials.
const MaterialsType = "application/spdx+json"

// Materials returns the bill of materials of a Go program, at path binary, as JSON of SPDX 2.3: the modules that the Go command has written into
// the program, and Go's own version. The same program and release give the same bytes.
func Materials(binary string, release Release) ([]byte, error) {
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("cannot read what %s was built from: %w", binary, err)
	}
	main := modulePackage(debug.Module{Path: built.Main.Path, Version: release.Version})
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: built.Path,
		CreationInfo: &spdx.CreationInfo{
			Creators: []spdx.Creator{{CreatorType: "Organization", Creator: "flux-landscaper"}},
			Created:  release.Created.UTC().Format(time.RFC3339),
		},
		Packages:      []*spdx.Package{main, modulePackage(debug.Module{Path: "stdlib", Version: strings.TrimPrefix(built.GoVersion, "go")})},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", main.PackageSPDXIdentifier, common.TypeRelationshipDescribe)},
	}
	for _, module := range built.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		document.Packages = append(document.Packages, modulePackage(*module))
	}
	for _, part := range document.Packages[1:] {
		document.Relationships = append(document.Relationships,
			relation(main.PackageSPDXIdentifier, part.PackageSPDXIdentifier, common.TypeRelationshipDependsOn))
	}
	document.DocumentNamespace = fmt.Sprintf("%s/spdx/%s-%s-%s", Source, built.Path[strings.LastIndex(built.Path, "/")+1:], release.Version, settingsID(built))
	var out bytes.Buffer
	err = spdxjson.Write(document, &out, spdxjson.Indent(" "))
	return out.Bytes(), err
}

// settingsID tells builds of one version apart: by platform and modules.
func settingsID(built *debug.BuildInfo) string {
	sum := sha256.Sum256([]byte(built.String()))
	return hex.EncodeToString(sum[:8])
}

// modulePackage describes a Go module by its package URL.
func modulePackage(module debug.Module) *spdx.Package {
	id := strings.NewReplacer("/", "-", "_", "-", "~", "-", "+", "-").Replace(module.Path + "-" + module.Version)
	return &spdx.Package{
		PackageName: module.Path, PackageVersion: module.Version, PackageSPDXIdentifier: common.ElementID("Package-" + id),
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION",
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + module.Path + "@" + module.Version,
		}},
	}
}

func relation(from, to common.ElementID, kind string) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: kind}
}
