// Lets the Go compiler accept functions without a body: see internals.go.
