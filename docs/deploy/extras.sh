#!/bin/sh
# Writes what is given away beside the program: manual pages, compressed, and completions of shells. sh docs/deploy/extras.sh DIR [snapshot]
#
# A release, that is a call without snapshot, is refused while the repository has no LICENSE: nobody may use what has none.
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
