{{/*
Labels of all objects.
*/}}
{{- define "queuewarden.labels" -}}
{{- $own := dict
  "app.kubernetes.io/name" "queuewarden"
  "app.kubernetes.io/part-of" "queuewarden"
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{/*
The label that selects the pods of the operator.
*/}}
{{- define "queuewarden.selector" -}}
app.kubernetes.io/name: queuewarden
{{- end }}

{{/*
Labels of pods.

  .root      the root context
  .name      the value of the label that selects them
*/}}
{{- define "queuewarden.podLabels" -}}
{{- /* YuniKorn's admission controller leaves pods with this label as they are. */ -}}
{{- merge (dict "app.kubernetes.io/name" .name "app" "yunikorn") .root.Values.podLabels .root.Values.commonLabels | toYaml }}
{{- end }}

{{/*
The fields of the pods' specification that the values of all pods set.
*/}}
{{- define "queuewarden.pod" -}}
schedulerName: default-scheduler
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- range $name := list "imagePullSecrets" "priorityClassName" "nodeSelector" "tolerations" "affinity" }}
{{- with get $.Values $name }}
{{ dict $name . | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- define "queuewarden.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{- define "queuewarden.serviceAccount" -}}
{{ .Values.serviceAccount.name | default "queuewarden" }}
{{- end }}

{{/*
The specification of the YuniKornConfig.
*/}}
{{- define "queuewarden.config" -}}
{{- $spec := deepCopy .Values.yunikornConfig.spec }}
{{- $namespace := .Values.yunikorn.namespace }}
{{- if ne ($spec.namespace | default $namespace) $namespace }}
{{- fail (printf "yunikornConfig.spec.namespace is %s, and yunikorn.namespace is %s" $spec.namespace $namespace) }}
{{- end }}
{{- $_ := set $spec "namespace" $namespace }}
{{- if not (hasKey $spec "schedulerUrl") }}
{{- $_ := set $spec "schedulerUrl" (printf "http://yunikorn-service.%s.svc:%v" $namespace .Values.networkPolicy.schedulerPort) }}
{{- else if not $spec.schedulerUrl }}
{{- $_ := unset $spec "schedulerUrl" }}
{{- end }}
{{- toYaml $spec }}
{{- end }}

{{/*
The names of the ConfigMaps that queuewarden reads: those that YuniKorn reads, the one that `adoption: Import` suggests, and those of the
YuniKornConfig, as a JSON list.
*/}}
{{- define "queuewarden.reads" -}}
{{- with .Values.yunikornConfig.spec -}}
{{ list "yunikorn-defaults" "yunikorn-configs" "yunikorn-queues" .base.configMap .output.configMap | uniq | toJson }}
{{- end }}
{{- end }}

{{/*
Whether cert-manager makes the certificate of HTTPS endpoints: "true" or nothing.
*/}}
{{- define "queuewarden.certManager" -}}
{{- if and .Values.webhooks.enabled (eq .Values.webhooks.certificate "cert-manager") }}true{{ end }}
{{- end }}

{{/*
The objects of files/FOLDER, which are those of manifests/FOLDER, as this release has them: its namespace and account, YuniKorn's namespace,
its labels, and who fills in caBundle. An object's text is JSON meanwhile, where "yunikorn" in quotes is a whole value and no part of one. That value is the namespace,
except in the label by which YuniKorn leaves pods to the default scheduler.

  .root      the root context
  .folder    FOLDER
  .change    nothing, or the name of a template that is given .root and .object, and prints the object as JSON
*/}}
{{- define "queuewarden.manifests" -}}
{{- $root := .root }}
{{- $change := .change }}
{{- $account := include "queuewarden.serviceAccount" $root }}
{{- $files := $root.Files.Glob (printf "files/%s/*.yaml" .folder) }}
{{- if not $files }}{{ fail (printf "this version has no %s" .folder) }}{{ end }}
{{- range $path, $_ := $files }}
{{- range splitList "\n---\n" ($root.Files.Get $path) }}
{{- $object := fromYaml . }}
{{- if $change }}
{{- $object = include $change (dict "root" $root "object" $object) | fromJson }}
{{- end }}
{{- if $object }}
{{- $labels := include "queuewarden.labels" $root | fromYaml }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($object.metadata.labels | default dict) $labels) }}
{{- range $object.subjects }}
{{- if eq .name "queuewarden" }}{{ $_ := set . "name" $account }}{{ end }}
{{- end }}
{{- if and (include "queuewarden.certManager" $root) (has $object.kind (list "ValidatingWebhookConfiguration" "MutatingWebhookConfiguration" "APIService")) }}
{{- $_ := set $object.metadata "annotations" (dict "cert-manager.io/inject-ca-from" (printf "%s/queuewarden-https" $root.Release.Namespace)) }}
{{- end }}
---
{{ $object | toJson
  | replace "\"yunikorn\"" (toJson $root.Values.yunikorn.namespace)
  | replace (printf "\"app\":%s" (toJson $root.Values.yunikorn.namespace)) "\"app\":\"yunikorn\""
  | replace "system:serviceaccount:queuewarden-system:queuewarden'" (printf "system:serviceaccount:queuewarden-system:%s'" $account)
  | replace "queuewarden-system" $root.Release.Namespace | fromJson | toYaml }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
A file of files/, or an error where this version has none.
*/}}
{{- define "queuewarden.file" -}}
{{- .root.Files.Get (printf "files/%s" .path) | required (printf "this version has no %s" .path) }}
{{- end }}
