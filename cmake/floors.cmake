# Turns src/FLOORS into targets: for each folder a static library sluice_<folder> of its .cpp files, linked to the
# folders it may include, and a test program <folder>_test of its *_test.cpp files.

# For what runs for a moment and takes the compiler long: tests, and the command line's templates.
set(SLUICE_QUICK_COMPILE $<$<CONFIG:Release>:-O1>)
if(SLUICE_SANITIZE MATCHES "address")  # its checks take the optimizer as long as everything else
  set(SLUICE_QUICK_COMPILE -O0)
endif()

function(sluice_tests program label)  # sluice_tests(<program> <label> <link libraries...>) with ${program}_SOURCES set
  add_executable(${program} ${${program}_SOURCES})
  target_link_libraries(${program} PRIVATE ${ARGN} GTest::gmock GTest::gtest_main)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${program} PRIVATE ${SLUICE_QUICK_COMPILE})
  sluice_use_precompiled(${program} tests)
  # Only files that name these places learn them: a compiler cache then shares the objects of all others between clones.
  foreach(source IN LISTS ${program}_SOURCES)
    file(STRINGS ${source} places REGEX "SLUICE_(SOURCE|BINARY)_DIR" LIMIT_COUNT 1)
    if(places)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
        SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" SLUICE_BINARY_DIR="${PROJECT_BINARY_DIR}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    endif()
  endforeach()
  # NO_PRETTY_VALUES: the bytes of a struct, pointers among them, are no name for a test.
  gtest_discover_tests(${program} TEST_PREFIX "${label}." NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()

function(sluice_floor folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM ARGN PREPEND sluice_ OUTPUT_VARIABLE below)
  if(sources)
    add_library(sluice_${folder} STATIC ${sources})
    set(scope PUBLIC)
    if(NOT folder STREQUAL cli)  # it has a set of its own: CLI11 is what takes its files long
      sluice_use_precompiled(sluice_${folder} floors)
    endif()
  else()
    add_library(sluice_${folder} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(sluice_${folder} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sluice_${folder} ${scope} ${below} ${SLUICE_${folder}_LIBRARIES})
  if(tests)
    set(${folder}_test_SOURCES ${tests})
    sluice_tests(${folder}_test unit sluice_${folder} sluice_test_support)
  endif()
endfunction()
