# What makes a build of everything quick: files of a floor are compiled in batches, and headers of libraries are parsed once.
# A compiler cache shares little with either, so builds through one go without both, and so does the preset `clang`: those
# builds see that each file includes what it needs.
option(SLUICE_UNITY "Compile the files of a floor in batches" ON)
option(SLUICE_PRECOMPILE "Precompile the headers of libraries" ON)
set(SLUICE_BATCHED ${SLUICE_UNITY})
set(SLUICE_PRECOMPILED ${SLUICE_PRECOMPILE})
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "cache")  # ccache, sccache, buildcache
  set(SLUICE_BATCHED OFF)
  set(SLUICE_PRECOMPILED OFF)
endif()

# Headers of the C++ library and of Debian's packages that many files include. Headers of sluice do not belong here: a
# change of one would build everything again.
set(SLUICE_STANDARD_HEADERS <algorithm> <array> <bit> <cerrno> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstring>
  <filesystem> <fstream> <functional> <iterator> <limits> <map> <memory> <numeric> <optional> <set> <span> <string>
  <string_view> <system_error> <utility> <vector>)

# sluice_precompiled(<set> HEADERS <headers...> LIBRARIES <libraries...> OPTIONS <options...>): a set of headers, precompiled for
# targets that have these options.
function(sluice_precompiled set)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "HEADERS;LIBRARIES;OPTIONS")
  if(SLUICE_PRECOMPILED)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/${set}.cpp CONTENT "")
    add_library(sluice_precompiled_${set} OBJECT ${PROJECT_BINARY_DIR}/precompiled/${set}.cpp)
    target_link_libraries(sluice_precompiled_${set} PRIVATE ${given_LIBRARIES})
    target_compile_options(sluice_precompiled_${set} PRIVATE ${given_OPTIONS})
    target_precompile_headers(sluice_precompiled_${set} PRIVATE ${SLUICE_STANDARD_HEADERS} ${given_HEADERS})
  endif()
endfunction()

function(sluice_use_precompiled target set)
  if(SLUICE_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM sluice_precompiled_${set})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # char_traits.h silences these by pragmas, which g++ 12 forgets with the rest
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
    endif()
  endif()
endfunction()

sluice_precompiled(floors HEADERS <fmt/format.h> LIBRARIES fmt::fmt)
sluice_precompiled(cli HEADERS <fmt/format.h> <nlohmann/json.hpp> <CLI/CLI.hpp>
  LIBRARIES fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 OPTIONS ${SLUICE_QUICK_COMPILE})
sluice_precompiled(tests HEADERS <random> <sstream> <thread> <fmt/format.h> <nlohmann/json.hpp> <gmock/gmock.h> <gtest/gtest.h>
  LIBRARIES fmt::fmt nlohmann_json::nlohmann_json GTest::gmock GTest::gtest OPTIONS ${SLUICE_QUICK_COMPILE})

# Batches: what a dozen files share - json, the command line's parser, Beast - is instantiated once. Their anonymous
# namespaces become one, so a name may be there once in a floor. Files with options or definitions of their own stay alone.
if(SLUICE_BATCHED)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()
