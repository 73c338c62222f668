// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spiffOutside are the functions of Spiff that reach for files, processes, the environment or the network. Each is tried by
// TestSpiffReachesNothingOutside.
var spiffOutside = set(`read read_uncached write exec exec_uncached pipe pipe_uncached env tempfile mkdir lookup_file lookup_dir
	list_files list_dirs eval`)

// spiffInside are the functions of Spiff that work on their arguments alone. Encrypt and decrypt take their default key from the state, which
// has none here.
var spiffInside = set(`abs acos acosh archive asin asinh asjson asyaml base64 base64_decode basename bcrypt bcrypt_check bool catch ceil check
	compact contains contains_ip cos cosh decrypt defined dirname element encrypt error exp features float floor format hash
	index integer intersect ipset join keys lastindex length list_to_map log log10 lower makemap match max_ip md5 md5crypt
	md5crypt_check merge min_ip num_ip parse parseurl rand replace replace_match require reverse round roundtoeven semver
	semvercmp semverincmajor semverincminor semverincpatch semvermajor semvermatch semvermetadata semverminor semverpatch
	semverprerelease semverrelease semversort semvervalidate sin sinh sort split split_match sqrt static_ips string stub
	substr sync tagdef trim type uniq upper valid validate wggenkey wgpublickey x509cert x509genkey x509parsecert
	x509publickey`)

// goOutside are the functions of Sprig that reach outside; templates do not have them.
var goOutside = set(strings.Join(outsideWorld, " "))

// goCapabilities are our functions that reach for something: files of the blueprint, resources of its component, and clusters.
var goCapabilities = set(`include readFile readDir getResourceContent getServiceAccountKubeconfig getServiceAccountKubeconfigWithExpirationTimestamp
	getShootAdminKubeconfig getShootAdminKubeconfigWithExpirationTimestamp getOidcKubeconfig`)

// goInside are the functions that work on their arguments, on chance and on the clock alone.
var goInside = set(`abbrev abbrevboth add add1 add1f addf adler32sum ago all and any append atoi b32dec b32enc b64dec b64enc base bcrypt
	biggest buildCustomCert call camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone dateModify
	date_in_zone date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration
	durationRound empty encryptAES eq ext fail first float64 floor fromJson fromYaml ge genCA genCAWithKey genPrivateKey
	genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get getComponent getRepositoryContext
	getResource getResourceKey getResources gt has hasKey hasPrefix hasSuffix hello html htmlDate htmlDateInZone htpasswd
	indent index initial initials int int64 isAbs join js kebabcase keys kindIs kindOf last le len list lower lt max maxf
	merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDateModify mustDeepCopy mustFirst
	mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind
	mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse
	mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify ne nindent nospace
	not now ociRefRepo ociRefVersion omit or osBase osClean osDir osExt osIsAbs parseOCIRef pick pluck plural prepend print
	printf println push quote randAlpha randAlphaNum randAscii randBytes randInt randNumeric regexFind regexFindAll
	regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver
	semverCompare seq set sha1sum sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub
	subf substr swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings toYaml trim trimAll
	trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper
	urlJoin urlParse urlquery uuidv4 values without wrap wrapWith`)

// source parses the files of a package, with those of the packages below it.
func source(t *testing.T, path string) map[string]*ast.File {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
	require.NoError(t, err)
	files := map[string]*ast.File{}
	require.NoError(t, filepath.WalkDir(strings.TrimSpace(string(dir)), func(at string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
			return err
		}
		files[at], err = parser.ParseFile(token.NewFileSet(), at, nil, 0)
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// written is the value of a literal, "" when the expression is none.
func written(expression ast.Expr) string {
	if literal, ok := expression.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		value, _ := strconv.Unquote(literal.Value)
		return value
	}
	return ""
}

// spiffNames finds every function that the library knows: the cases of its call, and what its packages register.
func spiffNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range source(t, "github.com/mandelsoft/spiff/dynaml") {
		constants := map[string]string{}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ValueSpec:
				collectValues(n, constants, names)
			case *ast.SwitchStmt:
				collectCases(n, names)
			case *ast.CallExpr:
				collectRegistered(t, n, constants, names)
			}
			return true
		})
	}
	return names
}

// collectValues notes constants, and the functions of package math that are registered under their own names.
func collectValues(spec *ast.ValueSpec, constants map[string]string, names map[string]bool) {
	for i, name := range spec.Names {
		if i < len(spec.Values) && written(spec.Values[i]) != "" {
			constants[name.Name] = written(spec.Values[i])
		}
	}
	if spec.Names[0].Name != "float_functions" {
		return
	}
	for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
		names[strings.ToLower(element.(*ast.SelectorExpr).Sel.Name)] = true
	}
}

// collectCases notes what the switches over names of functions know.
func collectCases(statement *ast.SwitchStmt, names map[string]bool) {
	if tag, ok := statement.Tag.(*ast.Ident); !ok || tag.Name != "funcName" {
		return
	}
	for _, clause := range statement.Body.List {
		for _, value := range clause.(*ast.CaseClause).List {
			if name := written(value); name != "" {
				names[name] = true
			}
		}
	}
}

func collectRegistered(t *testing.T, call *ast.CallExpr, constants map[string]string, names map[string]bool) {
	t.Helper()
	called, ok := call.Fun.(*ast.Ident)
	if !ok || called.Name != "RegisterFunction" {
		return
	}
	name := written(call.Args[0])
	if constant, ok := call.Args[0].(*ast.Ident); ok {
		if constant.Name == "n" { // the loop over float_functions
			return
		}
		name = constants[constant.Name]
	}
	require.NotEmpty(t, name, "a registered function has a name that this test understands")
	names[name] = true
}

func TestEverySpiffFunctionIsClassified(t *testing.T) {
	names := spiffNames(t)
	require.Greater(t, len(names), 80)
	for name := range names {
		assert.True(t, spiffOutside[name] != spiffInside[name], "%s: decide whether it reaches outside, and try it if it does", name)
	}
	tried, err := os.ReadFile("spiff_test.go")
	require.NoError(t, err)
	for name := range spiffOutside {
		assert.True(t, names[name], "%s does not exist any more", name)
		assert.Contains(t, string(tried), name+"(", "TestSpiffReachesNothingOutside tries it")
	}
}

// goNames are the functions that templates have: Go's own, and all of ours.
func goNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for at, file := range source(t, "text/template") {
		if filepath.Base(at) != "funcs.go" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if pair, ok := node.(*ast.KeyValueExpr); ok && written(pair.Key) != "" {
				names[written(pair.Key)] = true
			}
			return true
		})
	}
	require.True(t, names["and"] && names["call"], "the functions of text/template are found")
	run := goRun{ctx: t.Context()}
	for name := range run.allFunctions() {
		names[name] = true
	}
	return names
}

func TestEveryFunctionOfGoTemplatesIsClassified(t *testing.T) {
	names := goNames(t)
	for name := range names {
		assert.False(t, goOutside[name], "%s looks outside", name)
		assert.True(t, goCapabilities[name] != goInside[name], "%s: decide what it reaches", name)
	}
	for _, name := range slices.Sorted(maps.Keys(sprig.TxtFuncMap())) {
		assert.True(t, names[name] || goOutside[name], "Sprig's %s is either offered or known to look outside", name)
	}
}
