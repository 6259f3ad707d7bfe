#!/usr/bin/env bash
# Plants each known mistake of engines of our families (mutants.sh) into a copy of the sources, builds the golden tests and
# sees them fail. A golden that a mistake can pass proves nothing.
# Usage: tests/mutations/run.sh [BUILD FOLDER] [only mutants whose name matches this expression]
#        tests/mutations/run.sh --check BUILD FOLDER: builds nothing, says which mistakes no longer find their place
set -euo pipefail
cd "$(dirname "$0")/../.."
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
work=${1:-build-mutants}
only=${2:-}
CONFIGURE_FLAGS=${CONFIGURE_FLAGS:-}
mkdir -p "$work/tree"
for part in src tests cmake CMakeLists.txt; do
  rm -rf "${work:?}/tree/$part"
  cp -r "$part" "$work/tree/$part"
done

lost=0
# plant FILE PERL-SUBSTITUTION: changes the copy; 1 if it finds nothing to change
plant() {
  perl -0pi -e "$2" "$work/tree/$1"
  ! cmp -s "$1" "$work/tree/$1"
}

# The first reading of the list: every mistake finds its place, or nothing is built.
mutant() {
  local name=$1
  shift
  while (($# > 0)); do
    plant "$1" "$2" || { echo "mutations: '$name' no longer applies to $1"; lost=$((lost + 1)); }
    cp "$1" "$work/tree/$1"
    shift 2
  done
}
source tests/mutations/mutants.sh
[ "$lost" = 0 ] || exit 1
[ -z "$check" ] || exit 0

# -O1, kernels too: these programs run for a second; building them is what costs. -w: a mistake may leave a name without a use.
# One set of kernels and the scalar one are enough to see a mistake. Files alone, as a mistake then builds one of them.
sed -i 's/set(kernel_optimisation -O3)/set(kernel_optimisation -O1)/; s/set(foreign_kernels neon)/set(foreign_kernels neon avx512 avx512vbmi)/' "$work/tree/src/CMakeLists.txt"
sed -i '/supports("avx512f")/,/^  }$/d' "$work/tree/src/compute/kernel_table.cpp"
cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE= -DSLUICE_UNITY=OFF $CONFIGURE_FLAGS -DCMAKE_CXX_FLAGS="-O1 -DNDEBUG -w" >"$work/configure.log"
build() { ninja -C "$work/build" golden_tests >"$work/build.log" 2>&1; }
passes() { "$work/build/tests/golden_tests" --gtest_filter='*Oracle*:*VectorRun*' --gtest_brief=1 >"$work/test.log" 2>&1; }
build || { tail -20 "$work/build.log"; echo "mutations: the unchanged sources do not build"; exit 1; }
passes || { tail -20 "$work/test.log"; echo "mutations: the unchanged sources fail"; exit 1; }

caught=0
survived=0
broken=0
mutant() {
  local name=$1
  shift
  [[ "$name" =~ $only ]] || return 0
  local files=()
  while (($# > 0)); do
    plant "$1" "$2"
    files+=("$1")
    shift 2
  done
  if ! build; then
    echo "BROKEN    $name: does not build ($(grep -m 1 'error:' "$work/build.log"))"
    broken=$((broken + 1))
  elif passes; then
    echo "SURVIVED  $name"
    survived=$((survived + 1))
  else
    echo "caught    $name ($(grep -c '^\[  FAILED' "$work/test.log") lines of failures)"
    caught=$((caught + 1))
  fi
  for file in "${files[@]}"; do cp "$file" "$work/tree/$file"; done
}
source tests/mutations/mutants.sh

echo "mutations: $caught caught, $survived survived, $broken do not build"
[ "$survived$broken" = 00 ]
