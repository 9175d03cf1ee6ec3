// Package flags has the flags of gdsvd that stand for more than one value, or say more than a number does when they are wrong:
// the method and its settings, the number of triplets or their energy, and what an ingest leaves out.
package flags
