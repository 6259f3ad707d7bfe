#!/bin/sh
# Builds the computing floors for AArch64 and runs their unit tests under qemu. Usage: tests/arm64/run.sh [BUILD FOLDER]
set -eu
cd "$(dirname "$0")/../.."
work=${1:-build-arm64}
test -f "$work/build.ninja" ||
  cmake -S tests/arm64 -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu" ${CONFIGURE_FLAGS:-} >/dev/null
ninja -C "$work" compute_test formats_test
ctest --test-dir "$work" -j 2 --output-on-failure --no-tests=error
