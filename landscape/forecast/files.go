// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/sourceignore"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
)

// Files are a landscape in a directory, with the repository around it.
type Files struct {
	// root is the repository, folder the landscape in it.
	root   fs.FS
	folder string
	// archive of the repository, as a source of Flux offers it, and remotes that it is kept at.
	archive []byte
	remotes []string
	// unpacked is the archive for Kustomize, once it is needed, and built has by folder what that makes of it.
	unpacked filesys.FileSystem
	built    map[string][]byte
}

// Directory reads a landscape in a folder of a repository.
func Directory(repository, folder string) (*Files, error) {
	ignored := strings.Split(sourceignore.ExcludeExt+","+sourceignore.ExcludeCI+","+sourceignore.ExcludeExtra, ",")
	archive := &bytes.Buffer{}
	if _, err := publishing.Pack(archive, repository, publishing.PackOptions{Defaults: true, Ignore: ignored, Uncompressed: true}); err != nil {
		return nil, err
	}
	return &Files{root: os.DirFS(repository), folder: folder, archive: archive.Bytes(), remotes: git.Remotes(repository), built: map[string][]byte{}}, nil
}

// Revision reads the landscape that a folder of a repository had in another revision. Remove takes its files from the disk.
func Revision(ctx context.Context, repository, folder, revision string) (files *Files, remove func(), err error) {
	archive := &bytes.Buffer{}
	if _, err := git.New(git.Options{}).ArchiveLocal(ctx, repository, revision, archive); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "flux-landscaper-diff-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err = extract(archive, dir); err == nil {
		files, err = Directory(dir, folder)
	}
	if err == nil {
		files.remotes = git.Remotes(repository)
		if _, absent := fs.Stat(files.root, folder); absent != nil {
			err = fmt.Errorf("revision %s has no directory %s", revision, folder)
		}
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return files, remove, nil
}

// Namespaces are those that the objects of the landscape name, sorted.
func (f *Files) Namespaces() ([]string, error) {
	manifests, err := f.manifests()
	named := map[string]bool{}
	for i := range manifests {
		if namespace := manifests[i].Namespace; namespace != "" {
			named[namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(named)), err
}

// manifests reads the objects of the landscape. A folder with a file of Kustomize is what Kustomize makes of it, as with Flux.
func (f *Files) manifests() ([]lint.Manifest, error) {
	top := cmp.Or(f.folder, ".")
	var found []lint.Manifest
	var built []string
	err := fs.WalkDir(f.root, top, func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if folder != top && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			file := path.Join(folder, name)
			if _, err := fs.Stat(f.root, file); err != nil {
				continue
			}
			text, err := f.build(folder)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			made, err := lint.ManifestsIn(file, text)
			if err != nil {
				return err
			}
			found, built = append(found, made...), append(built, folder)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || slices.Contains(built, top) {
		return found, err
	}
	plain, err := lint.Manifests([]lint.Place{{Artifact: f.root, Path: top, Name: f.folder}})
	for _, manifest := range plain {
		isBuilt := func(folder string) bool { return strings.HasPrefix(manifest.File, folder+"/") }
		if !slices.ContainsFunc(built, isBuilt) {
			found = append(found, manifest)
		}
	}
	return found, err
}

// build lets Kustomize work on a folder of the archive of the repository, as Flux does.
func (f *Files) build(folder string) ([]byte, error) {
	if text, isKnown := f.built[folder]; isKnown {
		return text, nil
	}
	if err := f.unpack(); err != nil {
		return nil, err
	}
	options := &krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()}
	made, err := krusty.MakeKustomizer(options).Run(f.unpacked, path.Join("/", folder))
	if err != nil {
		return nil, err
	}
	text, err := made.AsYaml()
	if err == nil {
		f.built[folder] = text
	}
	return text, err
}

// unpack reads the archive into memory.
func (f *Files) unpack() error {
	if f.unpacked != nil {
		return nil
	}
	files := filesys.MakeFsInMemory()
	for reader := tar.NewReader(bytes.NewReader(f.archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			f.unpacked = files
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(reader)
		if err == nil {
			err = files.WriteFile(path.Join("/", header.Name), text) // #nosec G305 -- in memory
		}
		if err != nil {
			return err
		}
	}
}

// extract writes the files of a tar into a directory. Links that lead out of it are left out.
func extract(archive io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(header.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		switch header.Typeflag {
		case tar.TypeReg:
			text, err := io.ReadAll(reader)
			if err == nil {
				err = root.WriteFile(name, text, 0o600)
			}
			if err != nil {
				return err
			}
		case tar.TypeSymlink:
			if filepath.IsLocal(filepath.Join(filepath.Dir(name), filepath.FromSlash(header.Linkname))) {
				if err := root.Symlink(header.Linkname, name); err != nil {
					return err
				}
			}
		}
	}
}

// RoundTrip answers with the files of a directory, or asks the server once: one that does not answer is not asked again.
func (a *artifacts) RoundTrip(request *http.Request) (*http.Response, error) {
	if content, known := a.files[request.URL.String()]; known {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)), Request: request}, nil
	}
	if err := a.down[request.URL.Host]; err != nil {
		return nil, err
	}
	response, err := a.next.RoundTrip(request)
	if err != nil {
		a.down[request.URL.Host] = err
	}
	return response, err
}

// offer makes the files what the Flux sources offer that they are kept in.
func (s *simulation) offer(ctx context.Context, files *Files) error {
	sum := digest.FromBytes(files.archive)
	address := "http://files.invalid/" + sum.Encoded() + ".tar"
	s.artifacts.files[address] = files.archive
	installations := &v1alpha1.InstallationList{}
	if err := s.store.List(ctx, installations); err != nil {
		return err
	}
	seen := map[client.ObjectKey]bool{}
	for i := range installations.Items {
		inst := &installations.Items[i]
		ref, at := inst.Spec.Blueprint.SourceReference, path.Join(inst.Spec.Blueprint.Path, model.FileName)
		if ref == nil || ref.Kind != sourcev1.GitRepositoryKind {
			continue
		}
		key := client.ObjectKey{Namespace: cmp.Or(ref.Namespace, inst.Namespace), Name: ref.Name}
		if _, err := fs.Stat(files.root, path.Clean(at)); seen[key] || err != nil {
			continue
		}
		seen[key] = true
		source := &sourcev1.GitRepository{}
		err := s.store.Get(ctx, key, source)
		switch {
		case apierrors.IsNotFound(err) && s.store.below == nil:
			source.Namespace, source.Name = key.Namespace, key.Name
			err = s.store.Create(ctx, source)
		case err == nil && !files.isOf(source.Spec.URL):
			continue
		}
		if err != nil {
			continue // the job says so
		}
		source.Status.Artifact = &meta.Artifact{URL: address, Path: address, Digest: sum.String(), Revision: "files@" + sum.Encoded()[:12], LastUpdateTime: metav1.Now()}
		source.Status.ObservedGeneration = source.Generation
		conditions.Delete(source, meta.StalledCondition)
		if err := s.store.Status().Update(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

// isOf reports whether files may come from a repository: where their own remotes are known, it is one of them.
func (f *Files) isOf(address string) bool {
	return address == "" || len(f.remotes) == 0 || slices.ContainsFunc(f.remotes, func(remote string) bool { return sameRepository(remote, address) })
}

// sameRepository compares addresses of one repository, however it is reached.
func sameRepository(a, b string) bool { return plainAddress(a) == plainAddress(b) }

func plainAddress(address string) string {
	_, rest, hasScheme := strings.Cut(address, "://")
	if !hasScheme {
		rest = strings.Replace(address, ":", "/", 1) // git@host:path
	}
	if _, behind, hasUser := strings.Cut(rest, "@"); hasUser {
		rest = behind
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git"))
}

// kustomization is one that applies files.
type kustomization struct {
	client.ObjectKey
	folder, namespace string
	prunes, fills     bool
	// alters says that it changes what it applies beyond that.
	alters bool
}

// kustomizationsOf returns the Kustomizations that apply what is below the folder of the files.
func kustomizationsOf(snapshot *landscape.Snapshot, files *Files) []kustomization {
	var found []kustomization
	for i := range snapshot.Kustomizations.Items {
		k := &snapshot.Kustomizations.Items[i]
		from := client.ObjectKey{Namespace: cmp.Or(k.Spec.SourceRef.Namespace, k.Namespace), Name: k.Spec.SourceRef.Name}
		isOurs := slices.ContainsFunc(snapshot.GitRepositories.Items, func(source sourcev1.GitRepository) bool {
			return k.Spec.SourceRef.Kind == sourcev1.GitRepositoryKind && client.ObjectKeyFromObject(&source) == from && files.isOf(source.Spec.URL)
		})
		folder := strings.TrimPrefix(path.Clean("/"+k.Spec.Path), "/")
		if _, err := fs.Stat(files.root, cmp.Or(folder, ".")); !isOurs || err != nil {
			continue
		}
		found = append(found, kustomization{
			client.ObjectKeyFromObject(k), folder, k.Spec.TargetNamespace, k.Spec.Prune && isBelow(folder, files.folder), k.Spec.PostBuild != nil,
			len(k.Spec.Patches)+len(k.Spec.Images)+len(k.Spec.Components)+len(k.Spec.NamePrefix)+len(k.Spec.NameSuffix) > 0,
		})
	}
	return found
}

// isBelow reports whether a path is a folder or lies in it.
func isBelow(at, folder string) bool {
	return folder == "" || folder == "." || at == folder || strings.HasPrefix(at, folder+"/")
}

// of returns the Kustomization that applies a file, the nearest one.
func (s *simulation) kustomizationOf(file string) kustomization {
	var nearest kustomization
	for _, k := range s.kustomizations {
		if isBelow(file, k.folder) && len(k.folder) >= len(nearest.folder) {
			nearest = k
		}
	}
	return nearest
}

// apply gives the landscape the objects of files, and takes away those that the files have no more.
func (s *simulation) apply(ctx context.Context, files *Files, namespace string) error {
	manifests, err := files.manifests()
	if err != nil {
		return err
	}
	for _, k := range s.kustomizations {
		if k.alters {
			s.notes = append(s.notes, fmt.Sprintf("Kustomization %s changes what it applies by patches, images, components, a prefix or a suffix: that is left out", k.ObjectKey))
		}
	}
	former := s.present
	s.present = map[landscape.ID]bool{}
	for i := range manifests {
		m := &manifests[i]
		object, ok := m.Object.(client.Object)
		if !ok || m.Name == "" {
			continue
		}
		by := s.kustomizationOf(m.File)
		object.SetNamespace(cmp.Or(by.namespace, m.Namespace, namespace, metav1.NamespaceDefault))
		if namespace != "" && object.GetNamespace() != namespace {
			continue
		}
		id := landscape.ID{Kind: m.Kind, Namespace: object.GetNamespace(), Name: m.Name}
		s.present[id] = true
		if m.Sealed || by.fills && m.FilledIn {
			reason := map[bool]string{true: "SOPS has encrypted it", false: "Flux fills values in"}[m.Sealed]
			s.notes = append(s.notes, fmt.Sprintf("%s in %s:%d is left as it is: %s", id, m.File, m.Line, reason))
			continue
		}
		if err := s.write(ctx, object); err != nil {
			return fmt.Errorf("%s:%d: %w", m.File, m.Line, err)
		}
	}
	if err := s.prune(ctx, former); err != nil {
		return err
	}
	return s.offer(ctx, files)
}

// prune deletes what former files had, or a Kustomization keeps, and the files do not have.
func (s *simulation) prune(ctx context.Context, former map[landscape.ID]bool) error {
	for _, kind := range landscape.Kinds[:7] {
		objects, err := s.store.all(kind.New())
		if err != nil {
			return err
		}
		for _, object := range objects {
			id := landscape.ID{Kind: kind.Name, Namespace: object.GetNamespace(), Name: object.GetName()}
			by := landscape.KustomizationOf(object)
			kept := slices.ContainsFunc(s.kustomizations, func(k kustomization) bool { return k.prunes && k.ObjectKey == by })
			if s.present[id] || !kept && !former[id] || object.GetDeletionTimestamp() != nil {
				continue
			}
			if kind.Name != "Installation" {
				s.applied = append(s.applied, ObjectChange{ID: id, What: Deleted})
			}
			if err := s.store.Delete(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// write brings an object of files into the landscape as Flux applies it: labels and annotations of others stay.
func (s *simulation) write(ctx context.Context, object client.Object) error {
	if secret, ok := object.(*corev1.Secret); ok {
		for key, text := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[key] = []byte(text)
		}
		secret.StringData = nil
	}
	existing := object.DeepCopyObject().(client.Object)
	err := s.store.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if apierrors.IsNotFound(err) {
		if err := s.store.Create(ctx, object); err != nil {
			return err
		}
		return s.note(nil, object)
	}
	if apierrors.IsForbidden(err) {
		s.notes = append(s.notes, fmt.Sprintf("%s: you may not read the one in the cluster, so what changes is not known", landscape.IDOf(object)))
		return nil
	}
	if err != nil {
		return err
	}
	object.SetLabels(union(existing.GetLabels(), object.GetLabels()))
	annotations := union(existing.GetAnnotations(), object.GetAnnotations())
	for name := range existing.GetAnnotations() {
		if _, stays := object.GetAnnotations()[name]; stays || !strings.Contains(name, v1alpha1.GroupName) {
			continue
		}
		if byFlux, err := protocol.IsAppliedByFlux(ctx, s.store, existing, landscape.IDOf(existing).Kind, name); err == nil && byFlux {
			delete(annotations, name)
		}
	}
	object.SetAnnotations(annotations)
	object.SetFinalizers(existing.GetFinalizers())
	object.SetOwnerReferences(existing.GetOwnerReferences())
	object.SetResourceVersion(existing.GetResourceVersion())
	if err := s.store.Update(ctx, object); err != nil {
		return err
	}
	return s.note(existing, object)
}

func union(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, from := range []map[string]string{a, b} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

// note records what files change of an object; before is nil where it is new.
func (s *simulation) note(before, after client.Object) error {
	if _, isInstallation := after.(*v1alpha1.Installation); isInstallation {
		return nil // its job is shown
	}
	change := ObjectChange{ID: landscape.IDOf(after), What: Added}
	if before != nil {
		was, err := contentOf(before)
		if err != nil {
			return err
		}
		is, err := contentOf(after)
		if err != nil {
			return err
		}
		if change.What, change.Fields = Changed, fieldsOf("", was.specified, is.specified); len(change.Fields) == 0 {
			return nil
		}
		change.Fields = masked(change.Kind, change.Fields)
	}
	s.applied = append(s.applied, change)
	return nil
}
