package csr

import (
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	longtest.Rapid()
	m.Run()
}
