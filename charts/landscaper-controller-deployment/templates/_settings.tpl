{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- define "controller.labels" -}}
{{ include "process.labels" .root }}
landscaper.gardener.cloud/component: {{ .component }}
{{- end -}}

{{- define "controller.selectorLabels" -}}
{{ include "process.selectorLabels" .root }}
landscaper.gardener.cloud/component: {{ .component }}
{{- end -}}

{{- /* The Secret with the kubeconfig of a process; empty where it runs in the cluster with the Installations. */ -}}
{{- define "controller.clusterSecret" -}}
{{- if .access.kubeconfig -}}
{{- .made -}}
{{- else if kindIs "map" .access.secretRef -}}
{{- .access.secretRef.name -}}
{{- else -}}
{{- .access.secretRef | default "" -}}
{{- end -}}
{{- end -}}

{{- /* The settings of Contexts named default, under the names that users know. */ -}}
{{- define "controller.contexts" -}}
{{- $all := .Values.landscaper.controllers | default dict -}}
{{- $contexts := $all.contexts | default $all.context | default dict -}}
{{ toYaml (($contexts.config | default dict).default | default dict) }}
{{- end -}}

{{- define "controller.args" -}}
{{- $own := .Values.landscaper -}}
{{- $args := list "controller" "--enable-leader-election" -}}
{{- $workers := 0 -}}
{{- $sync := "" -}}
{{- $controllers := $own.controllers | default dict -}}
{{- range $name := list "contexts" "context" "deployItems" "executions" "installations" -}}
{{- $controller := index $controllers $name | default dict -}}
{{- $workers = max $workers (int ($controller.workers | default 0)) -}}
{{- $sync = $controller.cacheSyncTimeout | default $sync -}}
{{- end -}}
{{- if $workers }}{{ $args = append $args (printf "--concurrent=%d" $workers) }}{{ end -}}
{{- with $sync }}{{ $args = append $args (print "--cache-sync-timeout=" .) }}{{ end -}}
{{- with $own.verbosity }}{{ $args = append $args (print "--log-level=" .) }}{{ end -}}
{{- with $own.metrics.port }}{{ $args = append $args (printf "--metrics-addr=:%d" (int .)) }}{{ end -}}
{{- $context := include "controller.contexts" . | fromYaml -}}
{{- $repository := $context.repositoryContext | default $own.repositoryContext -}}
{{- if and $repository (not $context.disable) -}}
{{- $args = append $args (print "--default-repository-context=" (toJson $repository)) -}}
{{- with $context.excludedNamespaces | default $context.excludeNamespaces -}}
{{- $args = append $args (print "--default-context-excluded-namespaces=" (join "," .)) -}}
{{- end -}}
{{- end -}}
{{- with ($own.deployItemTimeouts | default dict).pickup }}{{ $args = append $args (print "--pickup-timeout=" (ternary "0" . (eq . "none"))) }}{{ end -}}
{{- with $own.signatureVerificationEnforcementPolicy }}{{ $args = append $args (print "--signature-verification-enforcement-policy=" .) }}{{ end -}}
{{- with $own.defaultBlueprintAccess }}{{ $args = append $args (print "--default-blueprint-access=" .) }}{{ end -}}
{{- with ($own.k8sClientSettings | default dict).resourceClient -}}
{{- with .qps }}{{ $args = append $args (printf "--kube-api-qps=%v" .) }}{{ end -}}
{{- with .burst }}{{ $args = append $args (printf "--kube-api-burst=%d" (int .)) }}{{ end -}}
{{- end -}}
{{- range $name, $_ := $own.registryConfig.secrets }}{{ $args = append $args (print "--oci-config-file=/app/ls/registry/secrets/" $name) }}{{ end -}}
{{- if include "controller.manages" . -}}
{{- $args = concat $args (list "--deployer-management" (print "--deployer-management-namespace=" ($own.deployerManagement.namespace | default .Release.Namespace))) -}}
{{- end -}}
{{- with $own.healthCheck -}}
{{- $args = append $args (print "--health-check=" (.name | default $.Release.Name)) -}}
{{- $fullname := include "process.fullname" $ -}}
{{- $deployments := list $fullname -}}
{{- if include "webhooks.run" $ }}{{ $deployments = append $deployments (print $fullname "-webhooks") }}{{ end -}}
{{- $deployments = concat $deployments ((.additionalDeployments | default dict).deployments | default list) -}}
{{- $args = append $args (print "--health-check-deployments=" (join "," $deployments)) -}}
{{- end -}}
{{- with $own.eventsAddr }}{{ $args = append $args (print "--events-addr=" .) }}{{ end -}}
{{ toYaml (concat $args $own.extraArgs) }}
{{- end -}}

{{- /* Whether the controller installs deployers; empty is no. */ -}}
{{- define "controller.manages" -}}
{{- with .Values.landscaper.deployerManagement }}{{ if not .disable }}yes{{ end }}{{ end -}}
{{- end -}}

{{- /* The data of the Secrets with certificates and logins, by their names. */ -}}
{{- define "controller.files" -}}
{{- $secrets := dict -}}
{{- with .Values.landscaper.truststore.secrets -}}
{{- $files := dict -}}
{{- range $name, $pem := . }}{{ $_ := set $files (print $name ".crt") (b64enc $pem) }}{{ end -}}
{{- $_ := set $secrets "certs" $files -}}
{{- end -}}
{{- with .Values.landscaper.registryConfig.secrets -}}
{{- $files := dict -}}
{{- range $name, $logins := . }}{{ $_ := set $files $name (b64enc (toJson $logins)) }}{{ end -}}
{{- $_ := set $secrets "registry" $files -}}
{{- end -}}
{{ toYaml $secrets }}
{{- end -}}

{{- /* Whether there are webhooks; empty is no. */ -}}
{{- define "webhooks.run" -}}
{{- if not (has "all" .Values.webhooksServer.disableWebhooks) }}yes{{ end -}}
{{- end -}}

{{- define "webhooks.args" -}}
{{- $own := .Values.webhooksServer -}}
{{- $service := print (include "process.fullname" .) "-webhooks" -}}
{{- $args := list "webhooks" "--graceful-shutdown-timeout=20s" -}}
{{- with .Values.landscaper.verbosity }}{{ $args = append $args (print "--log-level=" .) }}{{ end -}}
{{- with $own.disableWebhooks }}{{ $args = append $args (print "--disable-webhooks=" (join "," .)) }}{{ end -}}
{{- $host := ($own.ingress | default dict).host -}}
{{- $access := $own.landscaperKubeconfig | default dict -}}
{{- if $host -}}
{{- $args = append $args (print "--webhook-url=https://" $host) -}}
{{- else if or $access.secretRef $access.kubeconfig -}}
{{- $args = append $args (printf "--webhook-url=https://%s.%s.svc:%d" $service .Release.Namespace (int $own.servicePort)) -}}
{{- else -}}
{{- $args = concat $args (list (printf "--webhook-service=%s/%s" .Release.Namespace $service) (printf "--webhook-service-port=%d" (int $own.servicePort))) -}}
{{- end -}}
{{- if or $own.certificatesNamespace $host $access.secretRef $access.kubeconfig -}}
{{- $args = append $args (print "--cert-ns=" ($own.certificatesNamespace | default .Release.Namespace)) -}}
{{- end -}}
{{ toYaml $args }}
{{- end -}}

{{- define "controller.image" -}}
{{- $image := dict "repository" .image.repository "tag" (.image.tag | default .root.Values.image.tag) -}}
{{- include "process.image" (dict "image" $image "default" .root.Chart.AppVersion) -}}
{{- end -}}

{{- /* The arguments of the page: those of flux/ui, with the proof that the values name. {root, args} */ -}}
{{- define "ui.args" -}}
{{- $own := .root.Values.ui -}}
{{- $args := list -}}
{{- range .args }}{{ if or (eq $own.proxy "certificate") (not (hasPrefix "--requestheader-" .)) }}{{ $args = append $args . }}{{ end }}{{ end -}}
{{- if eq $own.proxy "secret" }}{{ $args = append $args "--requestheader-secret-file=/etc/landscaper/ui/secret" }}{{ end -}}
{{- if eq $own.proxy "everyone" }}{{ $args = append $args "--everyone-sees-all" }}{{ end -}}
{{- with .root.Values.landscaper.verbosity }}{{ $args = append $args (print "--log-level=" .) }}{{ end -}}
{{ toYaml (concat $args $own.extraArgs) }}
{{- end -}}
