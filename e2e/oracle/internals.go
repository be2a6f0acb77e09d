package main

import (
	"os"
	"reflect"
	"regexp"
	"unsafe"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/security"
	corelog "github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-core/pkg/rmproxy/rmevent"
	"github.com/apache/yunikorn-core/pkg/scheduler"
	"github.com/apache/yunikorn-core/pkg/scheduler/ugm"
	"github.com/apache/yunikorn-k8shim/pkg/admission"
	shimlog "github.com/apache/yunikorn-k8shim/pkg/log"
)

// Functions that YuniKorn calls itself but does not export. Copying these few functions would make the oracle
// an opinion.

//go:linkname newClusterContext github.com/apache/yunikorn-core/pkg/scheduler.newClusterContext
func newClusterContext() *scheduler.ClusterContext

//go:linkname register github.com/apache/yunikorn-core/pkg/scheduler.(*ClusterContext).processRMRegistrationEvent
func register(context *scheduler.ClusterContext, event *rmevent.RMRegistrationEvent)

//go:linkname update github.com/apache/yunikorn-core/pkg/scheduler.(*ClusterContext).processRMConfigUpdateEvent
func update(context *scheduler.ClusterContext, event *rmevent.RMConfigUpdateEvent)

//go:linkname stopPartitionManager github.com/apache/yunikorn-core/pkg/scheduler.(*partitionManager).Stop
func stopPartitionManager(manager unsafe.Pointer)

//go:linkname resetUserCache github.com/apache/yunikorn-core/pkg/common/security.(*UserGroupCache).resetCache
func resetUserCache(cache *security.UserGroupCache)

//go:linkname parseRegexes github.com/apache/yunikorn-k8shim/pkg/admission/conf.parseRegexes
func parseRegexes(patterns string) ([]*regexp.Regexp, error)

//go:linkname mutate github.com/apache/yunikorn-k8shim/pkg/admission.(*AdmissionController).mutate
func mutate(controller *admission.AdmissionController, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// silence keeps YuniKorn's logs off standard output, which is the protocol's, and turns its "log and exit"
// into a panic that is reported as the answer. It also fixes the user resolver, which YuniKorn takes from the
// first partition it ever sees.
func silence() {
	os.Stdout = os.Stderr
	quiet := zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic))
	corelog.InitializeLogger(quiet, &zap.Config{Level: zap.NewAtomicLevel()})
	shimlog.UpdateLoggingConfig(quietLogs)
	userCache()
}

var quietLogs = map[string]string{"log.level": "FATAL"}

func userCache() *security.UserGroupCache {
	return security.GetUserGroupCache(configs.UserGroupResolver{}, security.GetConfigReader(), security.GetLdapAccess())
}

// fresh makes the process as a scheduler is before its first configuration.
func fresh() *scheduler.ClusterContext {
	resetUserCache(userCache())
	manager := ugm.GetUserManager()
	manager.ClearUserTrackers()
	manager.ClearGroupTrackers()
	manager.ClearConfigLimits()
	return newClusterContext()
}

// dispose ends the background work of a context; otherwise ten thousand configurations would leave as many
// timers behind.
func dispose(context *scheduler.ClusterContext) {
	for _, partition := range context.GetPartitionMapClone() {
		manager := reflect.ValueOf(partition).Elem().FieldByName("partitionManager")
		stopPartitionManager(manager.UnsafePointer())
	}
}
