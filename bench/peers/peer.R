# usage: Rscript peer.R NAME MATRIX K SEED OUT
# As peer.py, for R. The arrays are the compressed sparse columns of the
# transpose, which is what R's Matrix package wants: it factorises that, and
# left and right are exchanged in what it writes to OUT for peer.py to check.
# bpcells-store writes the transpose as a bit-packed directory MATRIX/bpcells.
arg <- commandArgs(trailingOnly = TRUE)
name <- arg[1]; dir <- arg[2]; k <- as.integer(arg[3]); seed <- as.integer(arg[4]); out <- arg[5]
packed <- file.path(dir, "bpcells")
load <- function() {
  field <- function(x) as.integer(sub(paste0('.*"', x, '":([0-9]+).*'), "\\1", readLines(file.path(dir, "shape.json"), warn = FALSE)))
  rows <- field("rows"); cols <- field("cols"); nnz <- field("nnz")
  raw <- function(f, what, n) readBin(file.path(dir, f), what, n)
  new("dgCMatrix", p = raw("indptr.i32", "integer", rows + 1), i = raw("indices.i32", "integer", nnz),
      x = raw("data.f64", "double", nnz), Dim = c(cols, rows))
}
package <- if (grepl("bpcells", name)) "BPCells" else if (grepl("irlba", name)) "irlba" else "RSpectra"
suppressMessages({ library(Matrix); library(package, character.only = TRUE) })
if (name == "bpcells-store") {
  m <- load()
  kind <- if (all(m@x == round(m@x))) "uint32_t" else "float"  # whole numbers are packed
  invisible(write_matrix_dir(convert_matrix_type(as(m, "IterableMatrix"), kind), packed, overwrite = TRUE))
  quit()
}
a <- switch(name,
  "r-bpcells-disk" = open_matrix_dir(packed),
  "r-bpcells-memory" = write_matrix_memory(open_matrix_dir(packed)),
  load())
peak <- function() as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) * 1024
threads <- as.integer(Sys.getenv("OMP_NUM_THREADS"))
run <- switch(name,
  "r-irlba" = function() irlba(a, nv = k, nu = k),
  "r-irlba-1e-8" = function() irlba(a, nv = k, nu = k, tol = 1e-8, maxit = 5000),
  "r-rspectra" = function() svds(a, k),
  function() svds(a, k, threads = threads))
set.seed(seed)
before <- peak()
time <- system.time(r <- run())
rss <- peak()
con <- file(out, "wb")
writeBin(c(r$d, as.numeric(r$v), as.numeric(r$u)), con)
close(con)
cat(sprintf('{"seconds": %.6f, "cpu_seconds": %.6f, "peak_rss": %.0f, "rss_before": %.0f}\n',
            time[["elapsed"]], time[["user.self"]] + time[["sys.self"]], rss, before))
