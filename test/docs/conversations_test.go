package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestEveryRuleOfConversationsHasATest holds docs/conversations.md against the
// tests that there are.
func TestEveryRuleOfConversationsHasATest(t *testing.T) {
	t.Parallel()
	p := read(t, "docs/conversations.md")
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)
	rules := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(p.text, -1) {
		rule := m[1]
		if rule == "rule" || strings.HasPrefix(rule, "---") {
			continue
		}
		if rules[rule] {
			t.Errorf("the rule stands twice: %s", rule)
		}
		rules[rule] = true
		tests := 0
		for where := range strings.SplitSeq(m[2], "<br>") {
			tests += checkCase(t, rule, where)
		}
		if tests == 0 {
			t.Errorf("there is no test for: %s", rule)
		}
	}
	const least = 80 // as many as there were when the page was written
	if len(rules) < least {
		t.Errorf("the page has %d rules, not %d", len(rules), least)
	}
}
