#!/bin/sh
# The newcomer's path: a fresh clone in a folder with a blank in its name, and the README's two commands in it.
#   run.sh SOURCE WORK
set -eu
source=$1
work=$2
[ -z "${ATTN_NEWCOMER:-}" ] || exit 0 # never inside itself
if ! git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
  echo "newcomer: skipped: $source is no git repository, so nothing can be cloned"
  exit 77
fi
clone="$work/a fresh clone"
rm -rf "$clone"
mkdir -p "$work"
git -c safe.directory="$source" -c safe.directory="$source/.git" clone -q "$source" "$clone"

ATTN_NEWCOMER=1
export ATTN_NEWCOMER
cd / # from any folder
"$clone/course"
test -s "$clone/build/release/docs/html/index.html"
"$clone/course" docs # twice in a row
"$clone/course" test
"$clone/course" chapter 1 -- --sentence "早上好" >/dev/null

# The exercises: untouched, they are not solved; the answers solve them; a second call keeps what the reader wrote.
if "$clone/course" exercise 1; then echo "newcomer: untouched exercises passed"; exit 1; fi
cp "$clone/chapters/01-similarity/exercises/answers/"*.cpp "$clone/my/01-similarity/"
"$clone/course" exercise 1
cp "$clone/my/01-similarity/1-softmax.cpp" "$clone/my/01-similarity/1-softmax (copy).cpp" # no name for a target
"$clone/course" exercise 01-similarity
ln -s "$clone/course" "$work/course" # through a link
"$work/course" chapter 1 --brief
rm "$work/course"

# Wrong use is refused.
for wrong in frobnicate "chapter" "chapter 77" "exercise x"; do
  status=0
  # shellcheck disable=SC2086
  "$clone/course" $wrong >/dev/null 2>&1 || status=$?
  [ "$status" = 2 ] || { echo "newcomer: './course $wrong' ended with $status, not 2"; exit 1; }
done
test -z "$(git -C "$clone" status --porcelain)" || { git -C "$clone" status; exit 1; } # nothing of the tree was changed
rm -rf "$clone"
