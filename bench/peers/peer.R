# usage: Rscript peer.R NAME MATRIX K SEED OUT
# As peer.py, for R. The arrays are the compressed sparse columns of the
# transpose, which is what R's Matrix package wants: it factorises that, and
# left and right are exchanged in what it writes to OUT for peer.py to check.
suppressMessages({ library(Matrix); library(irlba); library(RSpectra) })
arg <- commandArgs(trailingOnly = TRUE)
name <- arg[1]; dir <- arg[2]; k <- as.integer(arg[3]); seed <- as.integer(arg[4]); out <- arg[5]
field <- function(x) as.integer(sub(paste0('.*"', x, '":([0-9]+).*'), "\\1", readLines(file.path(dir, "shape.json"), warn = FALSE)))
rows <- field("rows"); cols <- field("cols"); nnz <- field("nnz")
raw <- function(f, what, n) readBin(file.path(dir, f), what, n)
a <- new("dgCMatrix", p = raw("indptr.i32", "integer", rows + 1), i = raw("indices.i32", "integer", nnz),
         x = raw("data.f64", "double", nnz), Dim = c(cols, rows))
peak <- function() as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) * 1024
set.seed(seed)
before <- peak()
time <- system.time(switch(name,
  "r-irlba" = r <- irlba(a, nv = k, nu = k),
  "r-irlba-1e-8" = r <- irlba(a, nv = k, nu = k, tol = 1e-8, maxit = 5000),
  "r-rspectra" = r <- svds(a, k)))
rss <- peak()
con <- file(out, "wb")
writeBin(c(r$d, as.numeric(r$v), as.numeric(r$u)), con)
close(con)
cat(sprintf('{"seconds": %.6f, "cpu_seconds": %.6f, "peak_rss": %.0f, "rss_before": %.0f}\n',
            time[["elapsed"]], time[["user.self"]] + time[["sys.self"]], rss, before))
