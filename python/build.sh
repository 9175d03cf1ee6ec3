#!/bin/sh
# Builds the wheels of all platforms, or of the named ones, into a folder: sh python/build.sh [--out DIR] [GOOS/GOARCH...]
#
# Go cross-compiles for every platform. The Python that runs the script needs only pip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/dist
if [ "${1-}" = --out ]; then
	out=$2
	shift 2
fi
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
for platform; do
	GOOS=${platform%/*} GOARCH=${platform#*/} ${PYTHON:-python3} -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir "$out" "$here"
done
ls -l "$out"
