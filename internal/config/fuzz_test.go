package config

import "testing"

// FuzzConfig reads a configuration file: whatever is in it, the values are in
// their bounds, or it is said what is wrong.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("[agents.checkpoints]\nkeep = 50\nmax_untracked_mb = -1\n"))
	f.Add([]byte("[agents.checkpoints]\nkeep = 100000\n"))
	f.Add([]byte("git = \"git\"\n[x]\n"))
	f.Add([]byte("[agents.checkpoints]\nkeep = \"x\"\ngone_days = 1e9\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := Parse(data)
		if keep := c.Agents.Checkpoints.Keep; len(problems) == 0 && (keep < 1 || keep > 1000) {
			t.Errorf("keep is %d, and nothing is said", keep)
		}
	})
}
