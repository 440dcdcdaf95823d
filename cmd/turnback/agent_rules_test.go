//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// testAgentPersonCloses: what closes a checkpoint is the person's, too.
func testAgentPersonCloses(t *testing.T, bin string) {
	mark := func(prompt, goal string) []fakemodel.ChatReply {
		opens, writes := toolCalls("", "checkpoint", "goal", goal), toolCalls("", "write", "path", "a.txt", "content", goal+"\n")
		opens.Match, writes.Match = regexp.MustCompile(prompt), regexp.MustCompile("Goal: "+goal)
		return []fakemodel.ChatReply{opens, writes}
	}
	replies := append(append(mark("mark one", "one"), mark("mark two", "two")...), mark("mark three", "three")...)
	h := newAgentHouse(t, bin, append(replies, fakemodel.ChatReply{Text: "open", Keep: true})...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "turnback"), "agent", "--model", "openai/m", "--conversation", "--yes")
	cmd.Dir, cmd.Env = h.repo.Root, h.env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p := &typist{t: t, tty: tty}
	go p.watch() // ends when the terminal is closed
	p.sees("> ")

	p.types("mark one\r")
	p.sees("is still open")
	p.sees("> ")
	p.types("/abandon\r")
	p.sees(`The checkpoint "one" is closed without a report\.`)
	p.types("/abandon\r")
	p.sees(`No checkpoint is open\.`)
	if !h.repo.Exists("a.txt") {
		t.Error("closing a checkpoint changed a file")
	}

	p.types("mark two\r")
	p.sees("is still open")
	p.sees("> ")
	p.types("/rewind --filesystems are slow\r")
	p.sees("rewound to the checkpoint: two")
	if got := h.repo.Read("a.txt"); got != "two\n" {
		t.Errorf("a report that begins like the flag put the files back: %q", got)
	}

	p.types("mark three\r")
	p.sees("is still open")
	p.sees("> ")
	p.types("/rewind --files three is done\r")
	p.sees("rewound to the checkpoint: three")
	if got := h.repo.Read("a.txt"); got != "two\n" {
		t.Errorf("with --files the file is %q", got)
	}
	p.types("/quit\r")
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// testAgentKeepsNoKey looks for the key in everything that the agent and the
// daemon have written.
func testAgentKeepsNoKey(t *testing.T, bin string) {
	const key = "sk-proj-0123456789abcdefghijklmnop"
	h := newAgentHouse(
		t, bin,
		toolCalls("", "checkpoint", "goal", "look"),
		toolCalls("", "bash", "command", "env; echo $OPENAI_API_KEY"),
		toolCalls("", "rewind", "report", "nothing"),
		fakemodel.ChatReply{Text: "Done."},
		fakemodel.ChatReply{Status: 401, Message: "Incorrect API key provided"},
	)
	h.env = append(h.env, "OPENAI_API_KEY="+key)
	h.agent("--conversation", "-p", "look around")
	if requests := h.model.Requests(); requests[0].Key != "set" {
		t.Fatal("the key was not used")
	}
	refused := h.command("agent", "--model", "openai/m", "--yes", "-p", "again")
	said, err := refused.CombinedOutput()
	if err == nil || strings.Contains(string(said), key) {
		t.Errorf("a refused key: %v, %s", err, said)
	}
	for _, variable := range h.env {
		name, dir, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "XDG_") && name != "HOME" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // not there, or no file
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(key)) {
				t.Errorf("the key is in %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found := h.repo.Git("log", "--all", "-p", "--format=%B", "--text"); strings.Contains(found, key) {
		t.Error("the key is in the repository")
	}
}
