// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// kubeconfigKey is where the kubeconfig stands in a Secret.
const kubeconfigKey = "config"

func targetCommand() *cobra.Command {
	return group("target", "Make Targets", []string{"targets", "t"},
		group("create", "Print the manifest of a Target", []string{"c"}, kubernetesClusterCommand()))
}

// targetFlags are the flags of target create kubernetes-cluster.
type targetFlags struct {
	name, namespace, kubeconfig, secret, output string
}

func kubernetesClusterCommand() *cobra.Command {
	f := &targetFlags{}
	cmd := &cobra.Command{
		Use: "kubernetes-cluster", Aliases: []string{"k8s-cluster"}, Args: cobra.NoArgs,
		Short: "Print a Target for the cluster of a kubeconfig",
		Long: "Print a Target for the cluster of a kubeconfig. The kubeconfig is part of the Target, or with --secret of a Secret beside it,\n" +
			"which you can encrypt for Git. It has to be self-contained: the controllers read no files and run no commands.",
		Example: "  flux-landscaper target create kubernetes-cluster --name production -n team --target-kubeconfig ./kubeconfig | kubectl apply -f -\n" +
			"  flux-landscaper target create kubernetes-cluster --name production -n team --target-kubeconfig ./kubeconfig --secret production -o target.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.create(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "The name of the Target.")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "The namespace of the Target.")
	flags.StringVar(&f.kubeconfig, "target-kubeconfig", "", "A file with the kubeconfig of the target cluster.")
	flags.StringVarP(&f.secret, "secret", "s", "", "Put the kubeconfig into a Secret of this name.")
	flags.StringVarP(&f.output, "output", "o", "", "A file to write to, which only its owner may read.")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("target-kubeconfig")
	return cmd
}

func (f *targetFlags) create(cmd *cobra.Command) error {
	text, err := readFile("--target-kubeconfig", f.kubeconfig)
	if err != nil {
		return err
	}
	if err := target.CheckKubeconfig(text); err != nil {
		return fmt.Errorf("--target-kubeconfig: %s: %w; `kubectl config view --minify --flatten --raw` writes one for the current context alone", f.kubeconfig, err)
	}
	manifest, err := f.manifest(text)
	if err != nil {
		return err
	}
	if f.output == "" {
		_, err = cmd.OutOrStdout().Write(manifest)
		return err
	}
	if err := os.WriteFile(f.output, manifest, 0o600); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	printDone(cmd, "Target %s written to %s", f.name, f.output)
	return nil
}

func (f *targetFlags) manifest(kubeconfig []byte) ([]byte, error) {
	meta := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Target"}
	made := &v1alpha1.Target{TypeMeta: meta, ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	made.Spec.Type = v1alpha1.KubernetesClusterTargetType
	if f.secret != "" {
		made.Spec.SecretRef = &v1alpha1.LocalSecretReference{Name: f.secret, Key: kubeconfigKey}
		return documents(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: f.secret, Namespace: f.namespace},
			StringData: map[string]string{kubeconfigKey: string(kubeconfig)},
		}, made)
	}
	raw, err := json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	if err != nil {
		return nil, err
	}
	config := v1alpha1.NewAnyJSON(raw)
	made.Spec.Configuration = &config
	return documents(made)
}

// documents returns objects as YAML documents, without what an API server fills in.
func documents(objects ...any) ([]byte, error) {
	var out []byte
	for _, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		delete(fields, "status")
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
		text, err := yaml.Marshal(fields)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}
