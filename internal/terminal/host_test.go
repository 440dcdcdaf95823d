package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestHostKeys(t *testing.T) {
	tests := []struct {
		name string
		vars map[string]string
		want []string
	}{
		{name: "none", vars: map[string]string{"TERM": "xterm-256color"}},
		{
			name: "tmux",
			vars: map[string]string{"TMUX": "/tmp/tmux-0/default,4242,0", "TMUX_PANE": "%3", "TERM": "tmux-256color"},
			want: []string{"tmux:/tmp/tmux-0/default,%3"},
		},
		{
			name: "tmux without a pane",
			vars: map[string]string{"TMUX": "/tmp/tmux-0/default,4242,0"},
		},
		{
			name: "tmux started from iTerm2 keeps the id of the tab that started it",
			vars: map[string]string{
				"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1", "TERM": "tmux-256color", "TERM_PROGRAM": "tmux",
				"ITERM_SESSION_ID": "w0t0p0:AAAA",
			},
			want: []string{"tmux:/tmp/t,%1"},
		},
		{
			name: "an old tmux leaves TERM_PROGRAM alone",
			vars: map[string]string{
				"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1", "TERM": "screen-256color", "TERM_PROGRAM": "iTerm.app",
				"ITERM_SESSION_ID": "w0t0p0:AAAA",
			},
			want: []string{"tmux:/tmp/t,%1"},
		},
		{
			name: "an editor started from a tmux pane: its terminals all inherit that pane's id",
			vars: map[string]string{"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1", "TERM": "xterm-256color", "TERM_PROGRAM": "vscode"},
		},
		{
			name: "zellij inside of WezTerm",
			vars: map[string]string{
				"ZELLIJ_SESSION_NAME": "main", "ZELLIJ_PANE_ID": "7", "TERM": "xterm-256color",
				"TERM_PROGRAM": "WezTerm", "WEZTERM_UNIX_SOCKET": "/run/wez", "WEZTERM_PANE": "0",
			},
			want: []string{"zellij:main,7"},
		},
		{
			name: "tmux and zellij, whichever is inside: both together name the pane",
			vars: map[string]string{
				"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1", "TERM_PROGRAM": "tmux",
				"ZELLIJ_SESSION_NAME": "main", "ZELLIJ_PANE_ID": "7",
			},
			want: []string{"tmux:/tmp/t,%1+zellij:main,7"},
		},
		{name: "screen", vars: map[string]string{"STY": "12.pts-0", "WINDOW": "2"}, want: []string{"screen:12.pts-0,2"}},
		{name: "WINDOW alone", vars: map[string]string{"WINDOW": "2"}},
		{
			name: "WezTerm",
			vars: map[string]string{"TERM_PROGRAM": "WezTerm", "WEZTERM_UNIX_SOCKET": "/run/wez-1", "WEZTERM_PANE": "4"},
			want: []string{"wezterm:/run/wez-1,4"},
		},
		{name: "kitty", vars: map[string]string{"KITTY_PID": "77", "KITTY_WINDOW_ID": "3"}, want: []string{"kitty:77,3"}},
		{
			name: "Ghostty started from kitty has no number of its own",
			vars: map[string]string{"TERM_PROGRAM": "ghostty", "KITTY_PID": "77", "KITTY_WINDOW_ID": "3"},
		},
		{
			name: "iTerm2",
			vars: map[string]string{"TERM_PROGRAM": "iTerm.app", "ITERM_SESSION_ID": "w0t1p2:BBBB", "TERM_SESSION_ID": "w0t1p2:BBBB"},
			want: []string{"iterm2:w0t1p2:BBBB"},
		},
		{
			name: "Apple's Terminal",
			vars: map[string]string{"TERM_PROGRAM": "Apple_Terminal", "TERM_SESSION_ID": "CCCC"},
			want: []string{"apple:CCCC"},
		},
		{name: "Windows Terminal", vars: map[string]string{"WT_SESSION": "dddd"}, want: []string{"windows-terminal:dddd"}},
		{
			name: "GNOME Terminal", vars: map[string]string{"GNOME_TERMINAL_SCREEN": "/org/gnome/Terminal/screen/1"},
			want: []string{"gnome-terminal:/org/gnome/Terminal/screen/1"},
		},
		{
			name: "Konsole", vars: map[string]string{"KONSOLE_DBUS_SERVICE": ":1.5", "KONSOLE_DBUS_SESSION": "/Sessions/2"},
			want: []string{"konsole::1.5,/Sessions/2"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, hostKeys(env(tt.vars))); diff != "" {
				t.Errorf("hostKeys (-want +got):\n%s", diff)
			}
		})
	}
}
