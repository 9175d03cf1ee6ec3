#!/bin/sh
# Measures the savings by start vectors (docs/nightly.md): warm.sh FILE, where FILE has ratings as lines user::item::rating.
# Prints passes and products of runs that start from the vectors of a store that lacks 1, 5 or 20 % of the entries, or every
# twentieth row or column, and of runs without start vectors. Needs gdsvd and awk.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for new in 0 1 5 20 rows cols; do
	# With percentages the first entry of every row and column is kept, so that the stores have the same ids.
	awk -F:: -v new=$new 'BEGIN { srand(7) } new == "rows" || new == "cols" { if ((new == "rows" ? $1 : $2) % 20) print; next } { r = 100*rand(); if (r >= new || !($1 in u) || !($2 in i)) { print; u[$1]; i[$2] } }' "$1" >"$dir/$new.dat"
	gdsvd ingest -q "$dir/$new.dat" -o "$dir/$new.csr" >/dev/null
done
for k in 10 50; do
	for new in 1 5 20 rows cols; do
		gdsvd svd -q "$dir/$new.csr" -k $k -o "$dir/old-$new-$k" >/dev/null
	done
	for tol in 1e-4 1e-8; do
		printf 'k=%d tol=%s without     ' $k $tol
		gdsvd svd -q "$dir/0.csr" -k $k --tol $tol -o "$dir/run" --json --force | grep -o '"\(passes\|products\)": [0-9]*' | tr '\n' ' '
		for new in 1 5 20 rows cols; do
			printf '\nk=%d tol=%s %4s new    ' $k $tol $new
			gdsvd svd -q "$dir/0.csr" -k $k --tol $tol --init "$dir/old-$new-$k" -o "$dir/run" --json --force | grep -o '"\(passes\|products\)": [0-9]*' | tr '\n' ' '
		done
		echo
	done
done
