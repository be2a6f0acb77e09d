package main

import (
	"encoding/json"
	"maps"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	schedulinginformersv1 "k8s.io/client-go/informers/scheduling/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/apache/yunikorn-k8shim/pkg/admission"
	"github.com/apache/yunikorn-k8shim/pkg/admission/conf"
	"github.com/apache/yunikorn-k8shim/pkg/common/utils"
)

type mutateQuestion struct {
	configMaps
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	subject
	// The pod, or the pod template of a workload.
	Pod    podFacts `json:"pod"`
	OldPod podFacts `json:"oldPod"`
	// The admission controller's view of the namespace and of the pod's priority class; null for nothing.
	NamespaceAnnotations     map[string]string `json:"namespaceAnnotations"`
	PriorityClassAnnotations map[string]string `json:"priorityClassAnnotations"`
}

type podFacts struct {
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	UID           string            `json:"uid"`
	PriorityClass string            `json:"priorityClass"`
	SchedulerName string            `json:"schedulerName"`
}

type mutateAnswer struct {
	Allowed bool   `json:"allowed"`
	Message string `json:"message"`
	// As the API server gets it.
	Patch json.RawMessage `json:"patch,omitempty"`
	// The pod, or the pod template, with the patch.
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	SchedulerName string            `json:"schedulerName"`
	// The submitter of the pod, as the shim reports it to the scheduler.
	User   string   `json:"user"`
	Groups []string `json:"groups"`
}

func answerMutate(question mutateQuestion) mutateAnswer {
	object := question.object(question.Pod)
	response := mutate(controller(question), &admissionv1.AdmissionRequest{
		Operation: admissionv1.Operation(question.Operation),
		Kind:      metav1.GroupVersionKind{Kind: question.Kind},
		Namespace: question.Namespace,
		UserInfo:  authenticationv1.UserInfo{Username: question.User, Groups: question.Groups},
		Object:    raw(object),
		OldObject: raw(question.object(question.OldPod)),
	})
	template := question.patched(response.Patch)
	user, groups := utils.GetUserFromPod(&v1.Pod{ObjectMeta: template.ObjectMeta})
	answer := mutateAnswer{
		Allowed:       response.Allowed,
		Patch:         response.Patch,
		Labels:        template.Labels,
		Annotations:   template.Annotations,
		SchedulerName: template.Spec.SchedulerName,
		User:          user,
		Groups:        groups,
	}
	if response.Result != nil {
		answer.Message = response.Result.Message
	}
	return answer
}

// controller is an admission controller that has seen these configurations, the namespace and the priority
// class.
func controller(question mutateQuestion) *admission.AdmissionController {
	quiet := &v1.ConfigMap{Data: maps.Clone(quietLogs)}
	settings := conf.NewAdmissionControllerConf([]*v1.ConfigMap{
		question.Defaults.object(), question.Configs.object(), quiet,
	})
	namespaces, classes := &namespaceInformer{}, &priorityClassInformer{}
	namespaceCache := must(admission.NewNamespaceCache(namespaces))
	classCache := must(admission.NewPriorityClassCache(classes))
	if question.NamespaceAnnotations != nil {
		name := question.Namespace
		if name == "" {
			name = "default"
		}
		namespaces.handler.OnAdd(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: question.NamespaceAnnotations,
		}}, false)
	}
	if question.PriorityClassAnnotations != nil {
		classes.handler.OnAdd(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{
			Name: question.Pod.PriorityClass, Annotations: question.PriorityClassAnnotations,
		}}, false)
	}
	return admission.InitAdmissionController(settings, classCache, namespaceCache)
}

// recorder is an informer that keeps the handler it is given, so that it can be given the objects of a
// cluster.
type recorder struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (r *recorder) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	r.handler = handler
	return nil, nil
}

type namespaceInformer struct {
	informersv1.NamespaceInformer
	recorder
}

func (i *namespaceInformer) Informer() cache.SharedIndexInformer { return &i.recorder }

type priorityClassInformer struct {
	schedulinginformersv1.PriorityClassInformer
	recorder
}

func (i *priorityClassInformer) Informer() cache.SharedIndexInformer { return &i.recorder }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (q mutateQuestion) object(facts podFacts) any {
	template := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: facts.Labels, Annotations: facts.Annotations, UID: types.UID(facts.UID)},
		Spec:       v1.PodSpec{PriorityClassName: facts.PriorityClass, SchedulerName: facts.SchedulerName},
	}
	switch q.Kind {
	case "Deployment":
		return appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}}
	case "DaemonSet":
		return appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: template}}
	case "StatefulSet":
		return appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template}}
	case "ReplicaSet":
		return appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}}
	case "Job":
		return batchv1.Job{Spec: batchv1.JobSpec{Template: template}}
	case "CronJob":
		job := batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}
		return batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: job}}
	default:
		return v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	}
}

// patched is the pod or the template after the patch, applied as the API server does it.
func (q mutateQuestion) patched(patch []byte) v1.PodTemplateSpec {
	text := raw(q.object(q.Pod)).Raw
	if len(patch) > 0 {
		text = must(must(jsonpatch.DecodePatch(patch)).Apply(text))
	}
	switch q.Kind {
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job":
		return decoded[appsv1.Deployment](text).Spec.Template
	case "CronJob":
		return decoded[batchv1.CronJob](text).Spec.JobTemplate.Spec.Template
	default:
		pod := decoded[v1.Pod](text)
		return v1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	}
}

func raw(object any) runtime.RawExtension {
	return runtime.RawExtension{Raw: must(json.Marshal(object))}
}

func decoded[T any](text []byte) T {
	var object T
	if err := json.Unmarshal(text, &object); err != nil {
		panic(err)
	}
	return object
}
