// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// The client asks the API server to answer writes with the metadata of the object. A whole object costs the API server its encoding and the client its
// decoding, and says nothing else that is new.

// accepted are the forms of an answer: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches.
const accepted = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

const contentType = "Content-Type"

// unobserved is the default of status.observedGeneration in the CRDs.
const unobserved = -1

// writer is a client that writes Installations, Executions, DeployItems, DataObjects and Targets by itself, and leaves everything else to another.
type writer struct {
	client.Client
	// apis has a client for each resource, because each client has its own limit of requests a second.
	apis map[string]rest.Interface
}

// New returns a client like client.New. When it has created, updated or patched an Installation, Execution, DeployItem, DataObject or Target, or updated
// the status of one, the object has the metadata of the answer, without managed fields. Its spec and status are what was sent, or read: the API server
// refuses an update of any other version of the object, and other patches are answered with the whole of it.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	whole, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	w := &writer{Client: whole, apis: map[string]rest.Interface{}}
	for _, object := range []client.Object{
		&v1alpha1.Installation{}, &v1alpha1.Execution{}, &v1alpha1.DeployItem{}, &v1alpha1.DataObject{}, &v1alpha1.Target{},
	} {
		if w.apis[partsOf(object).resource], err = connect(config, options); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// connect returns a client whose answers are metadata, and whose errors are those of every other.
func connect(config *rest.Config, options client.Options) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		return nil, err
	}
	own := rest.CopyConfig(config)
	own.APIPath, own.GroupVersion = "/apis", &v1alpha1.GroupVersion
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	own.AcceptContentTypes, own.ContentType = accepted, runtime.ContentTypeJSON
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if options.HTTPClient == nil {
		return rest.RESTClientFor(own)
	}
	return rest.RESTClientForConfigAndClient(own, options.HTTPClient)
}

// parts are those of an object that a write concerns.
type parts struct {
	resource string
	kind     string
	metadata *metav1.ObjectMeta
	// begin sets the status to that of a new object, by the defaults of the CRD.
	begin func()
}

// partsOf returns the parts of an object, none where its kind is written by others.
func partsOf(object client.Object) parts {
	switch o := object.(type) {
	case *v1alpha1.Installation:
		return parts{"installations", "Installation", &o.ObjectMeta, func() {
			o.Status = v1alpha1.InstallationStatus{ObservedGeneration: unobserved}
		}}
	case *v1alpha1.Execution:
		return parts{"executions", "Execution", &o.ObjectMeta, func() {
			o.Status = v1alpha1.ExecutionStatus{ObservedGeneration: unobserved}
		}}
	case *v1alpha1.DeployItem:
		return parts{"deployitems", "DeployItem", &o.ObjectMeta, func() {
			o.Status = v1alpha1.DeployItemStatus{ObservedGeneration: unobserved}
		}}
	case *v1alpha1.DataObject:
		return parts{"dataobjects", "DataObject", &o.ObjectMeta, func() {}}
	case *v1alpha1.Target:
		return parts{"targets", "Target", &o.ObjectMeta, func() { o.Status = v1alpha1.TargetStatus{} }}
	}
	return parts{}
}

// Create creates an object.
func (w *writer) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	of := partsOf(object)
	if of.resource == "" {
		return w.Client.Create(ctx, object, options...)
	}
	given := (&client.CreateOptions{}).ApplyOptions(options).AsCreateOptions()
	body, err := encode(object, of)
	request := w.apis[of.resource].Post().SetHeader(contentType, runtime.ContentTypeJSON)
	if err := send(ctx, request.VersionedParams(given, metav1.ParameterCodec), of, body, err); err != nil {
		return err
	}
	of.begin()
	return nil
}

// Update replaces an object, except its status.
func (w *writer) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	of := partsOf(object)
	if of.resource == "" {
		return w.Client.Update(ctx, object, options...)
	}
	given := (&client.UpdateOptions{}).ApplyOptions(options).AsUpdateOptions()
	body, err := encode(object, of)
	request := w.apis[of.resource].Put().SetHeader(contentType, runtime.ContentTypeJSON).Name(of.metadata.Name)
	return send(ctx, request.VersionedParams(given, metav1.ParameterCodec), of, body, err)
}

// Patch patches an object. The answer to a merge patch is short where it names the version of the object, and changes nothing but metadata.
func (w *writer) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	of := partsOf(object)
	if of.resource == "" || patch.Type() != types.MergePatchType {
		return w.Client.Patch(ctx, object, patch, options...)
	}
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	if !isOfMetadata(body, of.metadata.ResourceVersion) {
		return w.Client.Patch(ctx, object, client.RawPatch(patch.Type(), body), options...)
	}
	given := (&client.PatchOptions{}).ApplyOptions(options).AsPatchOptions()
	return send(ctx, w.apis[of.resource].Patch(patch.Type()).Name(of.metadata.Name).VersionedParams(given, metav1.ParameterCodec), of, body, nil)
}

// isOfMetadata reports whether a merge patch concerns one version of an object, and its metadata alone.
func isOfMetadata(patch []byte, version string) bool {
	var fields map[string]struct {
		ResourceVersion string `json:"resourceVersion"`
	}
	return json.Unmarshal(patch, &fields) == nil && len(fields) == 1 && version != "" && fields["metadata"].ResourceVersion == version
}

// Status writes the status of objects.
func (w *writer) Status() client.SubResourceWriter { return statusWriter{w.Client.Status(), w.apis} }

type statusWriter struct {
	client.SubResourceWriter
	apis map[string]rest.Interface
}

// Update replaces the status of an object. The whole object is sent, as everybody does, because mutating admission sees what is sent.
func (w statusWriter) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	given, of := &client.SubResourceUpdateOptions{}, partsOf(object)
	given.ApplyOptions(options)
	if of.resource == "" || given.SubResourceBody != nil {
		return w.SubResourceWriter.Update(ctx, object, options...)
	}
	body, err := encode(object, of)
	request := w.apis[of.resource].Put().SetHeader(contentType, runtime.ContentTypeJSON).Name(of.metadata.Name).SubResource("status")
	return send(ctx, request.VersionedParams(given.AsUpdateOptions(), metav1.ParameterCodec), of, body, err)
}

// encode returns an object with its kind as JSON; the object itself does not change.
func encode(object client.Object, of parts) ([]byte, error) {
	kind, before := object.GetObjectKind(), object.GetObjectKind().GroupVersionKind()
	kind.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(of.kind))
	defer kind.SetGroupVersionKind(before)
	return json.Marshal(object)
}

// send sends the body of a write, whose encoding may have failed, and takes the metadata of the answer over.
func send(ctx context.Context, request *rest.Request, of parts, body []byte, err error) error {
	if err != nil {
		return fmt.Errorf("encode %s %s/%s: %w", of.kind, of.metadata.Namespace, of.metadata.Name, err)
	}
	answer := &metav1.PartialObjectMetadata{}
	if err := request.Namespace(of.metadata.Namespace).Resource(of.resource).Body(body).Do(ctx).Into(answer); err != nil {
		return err
	}
	*of.metadata = answer.ObjectMeta
	of.metadata.ManagedFields = nil
	return nil
}
