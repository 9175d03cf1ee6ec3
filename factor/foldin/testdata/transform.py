"""Writes transform.json: what scikit-learn transforms new rows to. Run with scikit-learn, from this directory."""
import json

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer


def matrix(rows, cols, shift):  # as in transform_test.go
    i, j = np.meshgrid(np.arange(rows), np.arange(cols), indexing="ij")
    x = (i * i * 7 + j * j * 3 + i * j * 5 + shift) % 11
    return np.where(x < 6, x, 0).astype(float)


train, new = matrix(24, 14, 1), matrix(6, 14, 4)
new[3] = 0
tfidf = TfidfTransformer().fit(train)
out = {}
for name, model, a, b in [
    ("none", TruncatedSVD(4, algorithm="arpack"), train, new),
    ("tfidf", TruncatedSVD(4, algorithm="arpack"), tfidf.transform(train).toarray(), tfidf.transform(new).toarray()),
    ("center=columns", PCA(4, svd_solver="full"), train, new),
    ("center=columns whiten", PCA(4, svd_solver="full", whiten=True), train, new),
]:
    model.fit(a)
    out[name] = model.transform(b).tolist()
json.dump(out, open("transform.json", "w"), indent=1)
