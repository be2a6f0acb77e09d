{{/*
Labels of all objects.
*/}}
{{- define "queuewarden.labels" -}}
{{ include "queuewarden.selector" . }}
app.kubernetes.io/part-of: queuewarden
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
What selects the pods.
*/}}
{{- define "queuewarden.selector" -}}
app.kubernetes.io/name: queuewarden
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

{{/*
Whether cert-manager makes the certificate of HTTPS endpoints: "true" or nothing.
*/}}
{{- define "queuewarden.certManager" -}}
{{- if and .Values.webhooks.enabled (eq .Values.webhooks.certificate "cert-manager") }}true{{ end }}
{{- end }}

{{/*
The objects of files/FOLDER, which are those of manifests/FOLDER, as this release has them: its namespace, YuniKorn's, its labels, and who
fills in caBundle. An object's text is JSON meanwhile, where "yunikorn" in quotes is a whole value and no part of one.

  .root      the root context
  .folder    FOLDER
  .change    nothing, or the name of a template that is given .root and .object, and prints the object as JSON
*/}}
{{- define "queuewarden.manifests" -}}
{{- $root := .root }}
{{- $change := .change }}
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
{{- if and (include "queuewarden.certManager" $root) (has $object.kind (list "ValidatingWebhookConfiguration" "MutatingWebhookConfiguration" "APIService")) }}
{{- $_ := set $object.metadata "annotations" (dict "cert-manager.io/inject-ca-from" (printf "%s/queuewarden-https" $root.Release.Namespace)) }}
{{- end }}
---
{{ $object | toJson | replace "\"yunikorn\"" (toJson $root.Values.yunikorn.namespace) | replace "queuewarden-system" $root.Release.Namespace | fromJson | toYaml }}
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
