// Package docs holds the tests that keep README.md and the pages below docs true:
// every command, flag, verb, parameter, error code, trailer and setting that is
// told of is there, and every one that is there is told of.
package docs
