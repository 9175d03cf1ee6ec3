"""Highly variable genes are those of scanpy, for data that is read twice in blocks."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gdsvd

pytest.importorskip("skmisc.loess")
anndata = pytest.importorskip("anndata")
sys.path.insert(0, os.path.dirname(__file__))
import cells


@pytest.fixture(scope="module")
def data():
    """Counts similar to those of blood cells (PBMC): 700 cells of three batches, 900 genes, of which at least three never vary."""
    x = sp.vstack(list(cells.blocks(700, 897, molecules=400)), format="csr")
    x = sp.hstack([x, sp.csr_matrix((700, 3), dtype=x.dtype)], format="csr")
    found = anndata.AnnData(x)
    found.obs["batch"] = np.array(["b", "a", "c"])[np.arange(700) % 3]
    found.obs["batch"] = found.obs["batch"].astype("category")
    found.layers["counts"] = x.copy()
    return found


@pytest.mark.parametrize("flavor", ["seurat_v3", "seurat_v3_paper"])
@pytest.mark.parametrize("batch_key", [None, "batch"])
def test_as_scanpy(data, batch_key, flavor):
    sc = pytest.importorskip("scanpy")
    how = {"n_top_genes": 150, "batch_key": batch_key, "flavor": flavor, "inplace": False}
    want, found = sc.pp.highly_variable_genes(data, **how), gdsvd.pp.highly_variable_genes(data, **how)
    assert found["highly_variable"].sum() == 150
    assert found["highly_variable"].tolist() == want["highly_variable"].tolist()
    for name in set(want) - {"gene_name", "highly_variable"}:
        np.testing.assert_allclose(found[name], want[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_files_and_blocks(data, tmp_path):
    want = gdsvd.pp.highly_variable_genes(data, n_top_genes=150, batch_key="batch", inplace=False)
    data.write_h5ad(tmp_path / "a.h5ad")
    found = [gdsvd.pp.highly_variable_genes(tmp_path / "a.h5ad", n_top_genes=150, batch_key="batch", layer=layer) for layer in (None, "counts")]
    found.append(gdsvd.pp.highly_variable_genes(anndata.read_h5ad(tmp_path / "a.h5ad", backed="r"), n_top_genes=150, batch_key="batch", inplace=False))
    pytest.importorskip("zarr", "3")
    data.write_zarr(tmp_path / "a.zarr")
    found.append(gdsvd.pp.highly_variable_genes(tmp_path / "a.zarr", n_top_genes=150, batch_key="batch"))
    for table in found:
        assert table.equals(want)


def test_duplicate_entries_are_summed(data):
    """A matrix whose values are each stored as the sum of two entries has the variances of the matrix with single entries."""
    x = data.X.tocsr()
    halves = sp.csr_matrix((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), x.indptr * 2), shape=x.shape)
    how = {"n_top_genes": 150, "inplace": False}
    found = gdsvd.pp.highly_variable_genes(anndata.AnnData(halves, var=data.var), **how)
    assert halves.nnz == 2 * x.nnz and found.equals(gdsvd.pp.highly_variable_genes(data, **how))


def test_in_place_and_then_components(data):
    mine = data.copy()
    assert gdsvd.pp.highly_variable_genes(mine, n_top_genes=150) is None
    assert mine.uns["hvg"] == {"flavor": "seurat_v3"} and "highly_variable_nbatches" not in mine.var
    gdsvd.pp.pca(mine, 3, view="single-cell", tol=1e-4)
    assert (np.abs(mine.varm["PCs"]).sum(axis=1) > 0).sum() == 150


@pytest.mark.parametrize("values", [[1, 2, None], [1.5, None, 2.5], ["x", None, "y"]])
@pytest.mark.parametrize("categories", [True, False])
def test_cells_without_a_batch(data, tmp_path, values, categories):
    mine = data.copy()
    of = pd.Series([values[i % 3] for i in range(mine.n_obs)], index=mine.obs_names)
    mine.obs["b"] = of.astype("category") if categories else of
    mine.write_h5ad(tmp_path / "a.h5ad")
    for given in (mine, tmp_path / "a.h5ad"):
        with pytest.raises(ValueError, match="missing"):  # cells without a batch neither join the last batch nor form their own
            gdsvd.pp.highly_variable_genes(given, n_top_genes=9, batch_key="b", inplace=False)


def test_wrong(data):
    with pytest.raises(ValueError, match="flavor = 'seurat': it has to be one of seurat_v3"):
        gdsvd.pp.highly_variable_genes(data, flavor="seurat")
    with pytest.raises(ValueError, match="n_top_genes = 0"):
        gdsvd.pp.highly_variable_genes(data, n_top_genes=0)
    half = data.copy()
    half.X = half.X / 2
    with pytest.warns(UserWarning, match="raw counts"):
        gdsvd.pp.highly_variable_genes(half, n_top_genes=9)
    with pytest.raises(ValueError, match="no layers/none"):
        gdsvd.pp.highly_variable_genes(data, layer="none")
