# Checks that no kernel unit offers the linker a function it could use elsewhere: a weak symbol (nm: W, V, u) of a unit
# compiled for AVX-512 may be the one copy of a shared inline function that the whole program gets.
# Run as: cmake -DNM=nm -DOBJECTS=a.o|b.o -P kernel_symbols.cmake
string(REPLACE "|" ";" objects "${OBJECTS}")
list(FILTER objects INCLUDE REGEX "/kernels/(scalar|avx2|avx512|avx512vbmi|neon)\\.cpp\\.o")
list(LENGTH objects units)
if(units LESS 2)  # scalar and what the processor has
  message(FATAL_ERROR "expected kernel units among ${OBJECTS}")
endif()
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} -C ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVuwv] [^\n]*" leaked "${symbols}")
  string(REGEX MATCHALL "[^\n]* [TDBR] [^\n]*" exported "${symbols}")
  if(leaked)
    message(SEND_ERROR "${object} leaks ${leaked}")
  endif()
  list(FILTER exported EXCLUDE REGEX "Kernels$")
  if(exported)
    message(SEND_ERROR "${object} exports more than its table: ${exported}")
  endif()
endforeach()
message(STATUS "${units} kernel units export one table each and nothing weak")
