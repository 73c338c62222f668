{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* A Deployment of {root, component, name, account, replicas, own, access, secret, args, resources, ports, strategy}. */ -}}
{{- define "controller.deployment" -}}
{{- $root := .root -}}
{{- $fullname := include "process.fullname" $root -}}
{{- $isController := eq .component "controller" -}}
{{- $registries := and $isController (not (empty $root.Values.landscaper.registryConfig.secrets)) -}}
{{- $certificates := $root.Values.landscaper.truststore.secrets -}}
{{- $args := .args -}}
{{- if .secret }}{{ $args = append $args "--landscaper-kubeconfig=/app/ls/landscaper-cluster-kubeconfig/kubeconfig" }}{{ end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name | quote }}
  labels:
    {{- include "controller.labels" . | nindent 4 }}
spec:
  replicas: {{ .own.replicaCount }}
  selector:
    matchLabels:
      {{- include "controller.selectorLabels" . | nindent 6 }}
  strategy:
    {{- toYaml .strategy | nindent 4 }}
  template:
    metadata:
      labels:
        {{- include "controller.labels" . | nindent 8 }}
        landscaper.gardener.cloud/topology: {{ .name | trunc 63 | trimSuffix "-" | quote }}
        landscaper.gardener.cloud/topology-ns: {{ $root.Release.Namespace | quote }}
      annotations:
        # The files are read once.
        checksum/secrets: {{ include (print $root.Template.BasePath "/secrets.yaml") $root | sha256sum }}
        prometheus.io/scrape: "true"
        prometheus.io/port: {{ .metrics | quote }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      # Also with a kubeconfig: the leader is elected in the own cluster.
      serviceAccountName: {{ .account.name | quote }}
      terminationGracePeriodSeconds: {{ ternary 600 30 $isController }}
      topologySpreadConstraints:
      {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
      - maxSkew: 1
        topologyKey: {{ $key }}
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            {{- include "controller.selectorLabels" $ | nindent 12 }}
      {{- end }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml $root.Values.podSecurityContext | nindent 8 }}
      containers:
      - name: {{ .own.containerName | quote }}
        image: {{ include "controller.image" (dict "root" $root "image" .own.image) | quote }}
        imagePullPolicy: {{ .own.image.pullPolicy }}
        args:
        {{- range $args }}
        - {{ . | quote }}
        {{- end }}
        env:
        - name: RUNTIME_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: TMPDIR
          value: /tmp
        - name: GOMEMLIMIT
          valueFrom:
            resourceFieldRef:
              containerName: {{ .own.containerName | quote }}
              resource: limits.memory
        ports:
        - name: http-prom
          containerPort: {{ .metrics }}
        - name: healthz
          containerPort: 9440
        {{- if not $isController }}
        - name: webhooks
          containerPort: 9443
        # Until every node knows that this Pod no longer serves.
        lifecycle:
          preStop:
            sleep:
              seconds: 5
        {{- end }}
        livenessProbe:
          httpGet:
            path: /healthz
            port: healthz
        readinessProbe:
          httpGet:
            path: /readyz
            port: healthz
        securityContext:
          {{- toYaml $root.Values.securityContext | nindent 10 }}
        resources:
          {{- toYaml .resources | nindent 10 }}
        volumeMounts:
        - name: temporary
          mountPath: /tmp
        {{- if .secret }}
        - name: cluster
          mountPath: /app/ls/landscaper-cluster-kubeconfig
          readOnly: true
        {{- end }}
        {{- if $registries }}
        - name: registry
          mountPath: /app/ls/registry/secrets
          readOnly: true
        {{- end }}
        {{- range $name, $_ := $certificates }}
        - name: certs
          mountPath: {{ printf "/etc/ssl/certs/%s.crt" $name | quote }}
          subPath: {{ print $name ".crt" | quote }}
          readOnly: true
        {{- end }}
      volumes:
      - name: temporary
        emptyDir:
          sizeLimit: 8Gi
      {{- if .secret }}
      - name: cluster
        secret:
          secretName: {{ .secret | quote }}
      {{- end }}
      {{- if $registries }}
      - name: registry
        secret:
          secretName: {{ $fullname }}-registry
      {{- end }}
      {{- if $certificates }}
      - name: certs
        secret:
          secretName: {{ $fullname }}-certs
      {{- end }}
      {{- range $key := list "nodeSelector" "affinity" "tolerations" }}
      {{- with index $root.Values $key }}
      {{ $key }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
{{- end -}}
