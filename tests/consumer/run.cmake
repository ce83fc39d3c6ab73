# Installs the build to a prefix of its own, builds the consumer against it, and runs both.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCOMPILER=... -DFLAGS=... -P run.cmake
cmake_minimum_required(VERSION 3.22)
set(prefix "${WORK}/a prefix")
file(REMOVE_RECURSE "${WORK}")
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "${ARGN} ended with ${status}:\n${said}")
  endif()
  message("${said}")
  set(said "${said}" PARENT_SCOPE)
endfunction()
run(${CMAKE_COMMAND} --install "${BUILD}" --config "${CONFIG}" --prefix "${prefix}")
run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/build" -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
    "-DCMAKE_RUNTIME_OUTPUT_DIRECTORY=$<1:${WORK}/build>" # there, whatever the generator
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build "${WORK}/build")
run("${WORK}/build/consumer" "${prefix}/share/attn/golden/03-scaling/square")
# softmax(1/√2, 0) = (.669762, .330238), by NumPy; the output is .669762 (1, 2, 3) + .330238 (4, 5, 6)
if(NOT said MATCHES "1.9907 +2.9907 +3.9907" OR NOT said MATCHES "03-scaling/square")
  message(FATAL_ERROR "the consumer printed something else")
endif()
run("${prefix}/bin/attn" check 03-scaling/square "${prefix}/share/attn/golden/03-scaling/square")
