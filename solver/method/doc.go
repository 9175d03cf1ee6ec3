// Package method says what a method is: an algorithm with its settings (Method), what it
// needs and costs (Traits), and itself at work (Recurrence).
//
// A new method is a package beside this one's and a line in method/all. Flags, records of
// runs, the choice of a method, checkpoints and the conformance suite (suite_test.go of solver) know of
// it what its Traits and its State say. What it must keep is said at Recurrence; a
// recurrence of one vector embeds Alone and has Single make its Traits.
package method
