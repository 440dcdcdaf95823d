// Package conversation has the rules by which a model marks its conversation,
// explores, and goes on with a short report in place of the exploration. They
// depend on no agent and on no provider: our own agent keeps a conversation in
// [github.com/turnback/turnback/conversation/session], other agents' requests
// are rewritten by [github.com/turnback/turnback/conversation/collapse], and
// both say and ask the same things by this package.
package conversation
