"""Stores in buckets, and runs whose workers share a bucket: the results are the same as with a store on the disk."""

import http.server
import re
import threading
import urllib.parse

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd

A = sp.random(400, 60, 0.1, "csr", random_state=np.random.default_rng(5))


class Bucket(http.server.BaseHTTPRequestHandler):
    """A server with the interface of S3, which does not check signatures."""

    objects: dict[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if "list-type" in asked:
            bucket = url.path.strip("/") + "/"
            keys = [k[len(bucket) + 1 :] for k in self.objects if k.startswith("/" + bucket + asked.get("prefix", ""))]
            found = "".join(f"<Contents><Key>{k}</Key><Size>{len(self.objects[f'/{bucket}{k}'])}</Size></Contents>" for k in keys)
            return self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode())
        if url.path not in self.objects:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        data = self.objects[url.path]
        first, last = 0, len(data) - 1
        told = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if told:
            first, last = int(told[1]), min(last, int(told[2] or last))
        if not told or not data:
            return self.answer(200, data, ETag='"1"', Accept_Ranges="bytes")
        return self.answer(206, data[first : last + 1], ETag='"1"', Content_Range=f"bytes {first}-{last}/{len(data)}")

    def do_PUT(self):
        self.objects[self.path] = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.answer(200, ETag='"1"')

    def do_DELETE(self):
        self.objects.pop(self.path, None)
        self.answer(204)


@pytest.fixture
def bucket(monkeypatch):
    Bucket.objects = {}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        server.handle_error = lambda request, address: None  # a client that ends cuts its connections: no error of the server
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield Bucket.objects
        server.shutdown()


@pytest.fixture
def store(bucket, tmp_path):
    made = gdsvd.Store.from_scipy(A, tmp_path / "a.csr", rows_ids=[f"d{i}" for i in range(400)])
    for file in made.path.iterdir():
        bucket["/bkt/a.csr/" + file.name] = file.read_bytes()
    return made


def test_store(store, tmp_path):
    there = gdsvd.Store("s3://bkt/a.csr")
    assert (there.shape, there.nnz, there.fingerprint, there.path) == (store.shape, store.nnz, store.fingerprint, "s3://bkt/a.csr")
    assert there.head() == store.head()
    ours, theirs = there.svd(3, tmp_path / "there.svd"), store.svd(3, tmp_path / "here.svd")
    assert np.array_equal(ours.U, theirs.U) and np.array_equal(ours.s, theirs.s)
    assert np.array_equal(gdsvd.svds(there, k=3).u, gdsvd.svds("s3://bkt/a.csr", k=3).u)
    with pytest.raises(ValueError, match="bucket"):
        there.append([tmp_path / "more.csv"])


def test_what_is_not_there(store):
    with pytest.raises(gdsvd.GdsvdError, match="none"):
        gdsvd.Store("s3://bkt/none")
    with pytest.raises(gdsvd.GdsvdError, match="none"):
        gdsvd.svds("s3://bkt/none", k=3)


def test_files(store, bucket, tmp_path):
    """What ingest reads is a matrix in a bucket, too: an object, and a pattern of some."""
    sp.save_npz(tmp_path / "a.npz", A)
    bucket["/bkt/a.npz"] = (tmp_path / "a.npz").read_bytes()
    c = A.tocoo()
    for part in range(2):
        lines = zip(c.row[part::2], c.col[part::2], c.data[part::2], strict=True)
        bucket[f"/bkt/parts/{part}.csv"] = b"row,col,value\n" + b"".join(b"%d,%d,%r\n" % (i, j, float(v)) for i, j, v in lines)
    for path in ("s3://bkt/a.npz", "s3://bkt/parts/*.csv"):
        assert np.allclose(gdsvd.svds(path, k=3).s, gdsvd.svds(A, k=3).s, rtol=1e-12)
        assert np.allclose(gdsvd.PCA(2).fit(path).singular_values_, gdsvd.PCA(2).fit(A).singular_values_, rtol=1e-9)
    (shard,) = (name for name in bucket if "shard" in name)
    del bucket[shard]
    with pytest.raises(gdsvd.CorruptError, match="missing"):
        gdsvd.svds("s3://bkt/a.csr", k=3)


def test_pieces(store, bucket, tmp_path):
    """Store and pieces are in a bucket, and nothing else is in it afterwards."""
    before = dict(bucket)
    shared = tmp_path / "shared"
    shared.mkdir()
    here = gdsvd.svds(store, k=3, client="local", shared=shared, groups=3)
    there = gdsvd.svds("s3://bkt/a.csr", k=3, client="local", shared="s3://bkt/runs", groups=3)
    assert all(np.array_equal(a, b) for a, b in zip(here, there))
    assert bucket == before


@pytest.mark.parametrize("kind", ["store", "memory"])
def test_a_matrix_that_workers_do_not_see(kind, store):
    with pytest.raises(ValueError, match="A must be a store in a bucket"):
        gdsvd.svds(store if kind == "store" else A, k=3, client="local", shared="s3://bkt/runs")
