// Package label makes the labels of checkpoints: one short line that can be shown
// anywhere and holds no secret of a known form.
package label

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is the length of the longest label, in bytes.
const Max = 120

// Clean makes the label of a checkpoint from what a person or an agent wrote:
// the first line that has anything on it, control characters removed, white
// space folded, secrets of known forms masked, cut at Max bytes on a rune
// boundary with "..." at the end.
func Clean(text string) string {
	var line string
	for l := range strings.Lines(text) {
		if line = foldLine(l); line != "" {
			break
		}
	}
	line = maskSecrets(line)
	if len(line) <= Max {
		return line
	}
	cut := Max - len("...")
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return strings.TrimRight(line[:cut], " ") + "..."
}

func foldLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// secretForms are the known looks of keys and tokens. Where a form has a group,
// the group is the name in front, which stays.
func secretForms() []string {
	return []string{
		`\bsk-[A-Za-z0-9_-]{16,}`,                                     // OpenAI, Anthropic
		`\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}`,                  // GitHub
		`\bgithub_pat_[A-Za-z0-9_]{20,}`,                              //
		`\bglpat-[A-Za-z0-9_-]{16,}`,                                  // GitLab
		`\bxox[abposr]-[A-Za-z0-9-]{10,}`,                             // Slack
		`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,                               // AWS
		`\bAIza[A-Za-z0-9_-]{30,}`,                                    // Google
		`\bya29\.[A-Za-z0-9_-]{20,}`,                                  //
		`\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`,               // Stripe
		`\bnpm_[A-Za-z0-9]{30,}`,                                      // npm
		`\bhf_[A-Za-z0-9]{30,}`,                                       // Hugging Face
		`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`, // JSON web token
		`-----BEGIN [A-Z ]*PRIVATE KEY-----.*`,                        //
		`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}`,                    //
		`(?i)(\b[a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key)["']?\s*[=:]\s*["']?)[^\s"']{6,}`,
		`(://[^\s:/@]+:)[^\s@/]{3,}@`, // password in an address
	}
}

func maskSecrets(s string) string {
	if len(s) < 8 {
		return s
	}
	for _, form := range secretForms() {
		re := regexp.MustCompile(form)
		keep := "***"
		if re.NumSubexp() > 0 {
			keep = "${1}***"
		}
		if strings.HasSuffix(form, "@") {
			keep += "@"
		}
		s = re.ReplaceAllString(s, keep)
	}
	return s
}
