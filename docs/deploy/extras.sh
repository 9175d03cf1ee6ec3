#!/bin/sh
# Writes the files that are released beside the program, compressed manual pages and shell completions: sh docs/deploy/extras.sh DIR [snapshot]
#
# Without the argument snapshot, it fails if the repository has no LICENSE, because a release without a license may not be used.
set -eu
dir=$1
cd "$(dirname "$0")/../.."
if [ "${2-}" != snapshot ] && [ ! -f LICENSE ]; then
	echo "no LICENSE: its owner has not chosen one, so nothing is released; 'release --snapshot' builds without it" >&2
	exit 1
fi
rm -rf "$dir"
mkdir -p "$dir/man" "$dir/completions"
program=$dir/gdsvd
go build -o "$program" ./cmd/gdsvd
"$program" man "$dir/man" >/dev/null
gzip -9 -n "$dir"/man/*
for shell in bash zsh fish powershell; do
	"$program" completion $shell >"$dir/completions/gdsvd.$shell"
done
rm "$program"
