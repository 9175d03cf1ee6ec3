//go:build alltests

package recommend_test

import (
	"bytes"

	"github.com/parquet-go/parquet-go"
)

func init() {
	readParquet = func(file []byte) ([]record, error) {
		return parquet.Read[record](bytes.NewReader(file), int64(len(file)))
	}
}
