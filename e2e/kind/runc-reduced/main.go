// Runs runc with the capabilities that this machine can give. `docker run --privileged` asks for every capability there is, and runc fails if
// one is not in the bounding set, as CAP_SYS_RESOURCE in many containers. Here it gets what is there.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/capability"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "runc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if file := process(args); file != "" {
		if err := reduce(file); err != nil {
			return err
		}
	}
	program, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(program, append([]string{"runc"}, args...), os.Environ())
}

// Returns the file in which these arguments ask for capabilities.
func process(args []string) string {
	switch {
	case slices.Contains(args, "create"), slices.Contains(args, "run"):
		return filepath.Join(value(args, "--bundle", "-b"), "config.json")
	case slices.Contains(args, "exec"):
		return value(args, "--process", "-p")
	}
	return ""
}

func value(args []string, names ...string) string {
	for i, arg := range args {
		name, given, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			return given
		case i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}

// Removes the capabilities that this process cannot pass on from a container's configuration, or from that of a process in one.
func reduce(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	process := whole
	if inner, ok := whole["process"].(map[string]any); ok {
		process = inner
	}
	sets, _ := process["capabilities"].(map[string]any)
	if len(sets) == 0 {
		return nil
	}
	own, err := capability.NewPid2(0)
	if err != nil {
		return err
	}
	if err := own.Load(); err != nil {
		return err
	}
	had := map[string]bool{}
	for _, one := range capability.ListKnown() {
		had["CAP_"+strings.ToUpper(one.String())] = own.Get(capability.BOUNDING, one)
	}
	for set, names := range sets {
		list, _ := names.([]any)
		sets[set] = slices.DeleteFunc(list, func(name any) bool { return !had[fmt.Sprint(name)] })
	}
	if text, err = json.Marshal(whole); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
