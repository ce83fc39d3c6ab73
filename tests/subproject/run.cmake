# Builds the host project with the course inside, taken in by add_subdirectory and by FetchContent, and runs it.
#   cmake -DATTN=... -DSOURCE=... -DWORK=... -DGENERATOR=... -DCOMPILER=... -P run.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE "${WORK}")
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "${ARGN} ended with ${status}:\n${said}")
  endif()
  message("${said}")
  set(said "${said}" PARENT_SCOPE)
endfunction()
foreach(how IN ITEMS add_subdirectory FetchContent)  # in one folder, so that the library is compiled once
  run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/build" -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_BUILD_TYPE=Debug -DHOW=${how} "-DATTN_SOURCE=${ATTN}" --no-warn-unused-cli)
  run(${CMAKE_COMMAND} --build "${WORK}/build" --config Debug)
  run(ctest --test-dir "${WORK}/build" -C Debug -V)
  # softmax(1/√2, 0) = (.669762, .330238), by NumPy; the output is .669762 (1, 2, 3) + .330238 (4, 5, 6)
  if(NOT said MATCHES "1.9907 +2.9907 +3.9907" OR NOT said MATCHES "100% tests passed, 0 tests failed out of 1")
    message(FATAL_ERROR "the host printed something else")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${WORK}/build" --config Debug --prefix "${WORK}/prefix")
  if(EXISTS "${WORK}/prefix")
    message(FATAL_ERROR "the host installs something of the course")
  endif()
endforeach()

# Without a build type of its own the host has none.
run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/plain" -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    "-DATTN_SOURCE=${ATTN}")
file(REMOVE_RECURSE "${WORK}")
