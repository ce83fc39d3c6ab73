# Configures the project as other machines would have it, and reads what it says.
#   cmake -DSOURCE=... -DWORK=... -DGENERATOR=... -DBLAS=... -P run.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/empty" "${WORK}/a prefix/lib")

# expect(name PASSES|STOPS regex arguments...)
function(expect name outcome wanted)
  execute_process(COMMAND ${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/${name}" -G "${GENERATOR}" ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  set(came STOPS)
  if(status EQUAL 0)
    set(came PASSES)
  endif()
  if(NOT outcome STREQUAL came)
    message(FATAL_ERROR "${name}: configure should have said '${wanted}', but it ended with ${status}:\n${said}")
  elseif(NOT said MATCHES "${wanted}")
    message(FATAL_ERROR "${name}: configure should have said '${wanted}', but it said:\n${said}")
  endif()
  message("${name}: as expected")
endfunction()

# Without a BLAS library: every folder where one could lie is hidden.
get_filename_component(blas_folder "${BLAS}" DIRECTORY)
set(folders "${blas_folder}" /usr/lib /usr/lib64 /usr/local/lib /lib /lib64)
file(GLOB more LIST_DIRECTORIES true /usr/lib/*-linux-gnu /usr/lib/*-linux-gnu/openblas-* /lib/*-linux-gnu)
list(APPEND folders ${more})
string(REPLACE ";" "\\;" folders "${folders}")
expect(no-blas STOPS "blas was not found.*sudo apt-get install libopenblas-openmp-dev" "-DCMAKE_IGNORE_PATH=${folders}")

expect(blas-nowhere STOPS "ATTN_BLAS: wanted a library file or a folder, got /nowhere" -DATTN_BLAS=/nowhere)
expect(blas-empty STOPS "ATTN_BLAS: wanted a folder with a BLAS library in it" "-DATTN_BLAS=${WORK}/empty")
file(WRITE "${WORK}/libnone.so" "not a library")
expect(blas-none STOPS "BLAS: wanted a library with the function cblas_dgemm, got ${WORK}/libnone.so"
       "-DATTN_BLAS=${WORK}/libnone.so")

# A library in a prefix of one's own, with a blank in its name.
file(REAL_PATH "${BLAS}" real)
get_filename_component(extension "${BLAS}" LAST_EXT)
file(CREATE_LINK "${real}" "${WORK}/a prefix/lib/libopenblas${extension}" SYMBOLIC)
expect(blas-private PASSES "BLAS: ${WORK}/a prefix/lib/libopenblas" "-DATTN_BLAS=${WORK}/a prefix")

expect(no-doxygen PASSES "No docs: they need Doxygen" -DCMAKE_DISABLE_FIND_PACKAGE_Doxygen=ON)
expect(no-katex PASSES "No docs: they need Doxygen 1.9.4 or later, KaTeX" -DKATEX_DIR=)
expect(no-catch PASSES "Catch2 was not found: the unit tests are left out" -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON)
file(REMOVE_RECURSE "${WORK}")
