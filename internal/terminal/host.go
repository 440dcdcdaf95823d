package terminal

import "strings"

// hostKeys returns at most one key: that of the innermost host. The variables
// of an outer host are inherited by every pane of an inner one (a tmux server
// keeps the ITERM_SESSION_ID of whoever started it), so they would join panes
// that have nothing to do with each other.
func hostKeys(env func(string) string) []string {
	program := strings.ToLower(env("TERM_PROGRAM"))
	if key := multiplexerKey(env); key != "" && !inherited(program, env) {
		return []string{key}
	}
	if key := emulatorKey(program, env); key != "" {
		return []string{key}
	}
	return nil
}

// inherited says that an emulator was started from a multiplexer's pane (an
// editor by `code .`) and its terminals merely inherit the multiplexer's
// variables: the emulator put its own name and type of terminal over them.
// zellij sets neither, so nothing can be said about it.
func inherited(program string, env func(string) string) bool {
	if env("ZELLIJ_PANE_ID") != "" {
		return false
	}
	switch program {
	case "vscode", "iterm.app", "wezterm", "ghostty", "apple_terminal":
		term := env("TERM")
		return term != "" && !strings.HasPrefix(term, "tmux") && !strings.HasPrefix(term, "screen")
	default:
		return false
	}
}

// multiplexerKey joins the keys of all multiplexers around: one inside another
// cannot be told from the other way round, and together they name the pane
// in both cases.
func multiplexerKey(env func(string) string) string {
	var keys []string
	if socket, _, _ := strings.Cut(env("TMUX"), ","); socket != "" && env("TMUX_PANE") != "" {
		keys = append(keys, "tmux:"+socket+","+env("TMUX_PANE"))
	}
	keys = append(keys, pair("zellij", env("ZELLIJ_SESSION_NAME"), env("ZELLIJ_PANE_ID"))...)
	keys = append(keys, pair("screen", env("STY"), env("WINDOW"))...)
	return strings.Join(keys, "+")
}

// emulatorKey knows the hosts that number their panes. VS Code, Ghostty and
// Apple's Terminal before TERM_SESSION_ID do not: there the controlling
// terminal tells panes apart.
func emulatorKey(program string, env func(string) string) string {
	candidates := []struct {
		program string // TERM_PROGRAM where the host sets one
		keys    []string
	}{
		{"wezterm", pair("wezterm", env("WEZTERM_UNIX_SOCKET"), env("WEZTERM_PANE"))},
		{"", pair("kitty", env("KITTY_PID"), env("KITTY_WINDOW_ID"))},
		{"iterm.app", single("iterm2", env("ITERM_SESSION_ID"))},
		{"apple_terminal", single("apple", env("TERM_SESSION_ID"))},
		{"", single("windows-terminal", env("WT_SESSION"))},
		{"", single("gnome-terminal", env("GNOME_TERMINAL_SCREEN"))},
		{"", pair("konsole", env("KONSOLE_DBUS_SERVICE"), env("KONSOLE_DBUS_SESSION"))},
	}
	for _, c := range candidates {
		// A host that names itself rules out the variables of any other.
		if len(c.keys) > 0 && (program == "" || program == c.program) {
			return c.keys[0]
		}
	}
	return ""
}

func pair(host, place, pane string) []string {
	if place == "" || pane == "" {
		return nil
	}
	return []string{host + ":" + place + "," + pane}
}

func single(host, pane string) []string {
	if pane == "" {
		return nil
	}
	return []string{host + ":" + pane}
}
