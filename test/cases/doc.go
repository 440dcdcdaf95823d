// Package cases has the tests for kinds of trouble that other tools with
// checkpoints have had, as far as they stand in no test closer to the code. The
// table in docs/cases.md says which test is for which.
package cases
