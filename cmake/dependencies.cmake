# What the build needs. Each missing piece stops it with the line to type.

# Stops, naming the packages from packages.txt.
function(attn_missing what)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/packages.txt lines REGEX "^${what} ")
  string(REGEX REPLACE " +" ";" fields "${lines}")
  list(GET fields 1 debian)
  list(GET fields 2 fedora)
  list(GET fields 3 homebrew)
  message(FATAL_ERROR "${what} was not found. ${ARGN}\n"
          "  Debian, Ubuntu:  sudo apt-get install ${debian}\n"
          "  Fedora:          sudo dnf install ${fedora}\n"
          "  Homebrew:        brew install ${homebrew}\n"
          "Then configure again.")
endfunction()

# BLAS. OpenBLAS in its OpenMP flavour is preferred: it shares its threads with ours instead of fighting them.
# ATTN_BLAS picks another: a library file, or a folder (a prefix) that holds one.
set(ATTN_BLAS "" CACHE STRING "A BLAS library with cblas_dgemm: a file, or the prefix it is installed in")
if(ATTN_BLAS AND NOT EXISTS "${ATTN_BLAS}")
  message(FATAL_ERROR "ATTN_BLAS: wanted a library file or a folder, got ${ATTN_BLAS}, which does not exist")
elseif(ATTN_BLAS AND NOT IS_DIRECTORY "${ATTN_BLAS}")
  set(attn_blas "${ATTN_BLAS}")
elseif(ATTN_BLAS)
  find_library(attn_blas NAMES openblas openblaso cblas blas PATHS "${ATTN_BLAS}" NO_DEFAULT_PATH NO_CACHE
               PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT attn_blas)
    message(FATAL_ERROR "ATTN_BLAS: wanted a folder with a BLAS library in it, in lib or in lib64, got ${ATTN_BLAS}")
  endif()
else()
  foreach(prefix ${CMAKE_PREFIX_PATH} /usr /usr/local /opt/homebrew/opt/openblas /usr/local/opt/openblas)
    list(APPEND attn_blas_folders ${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp ${prefix}/lib)
  endforeach()
  find_library(attn_blas NAMES openblas openblaso PATHS ${attn_blas_folders} NO_DEFAULT_PATH NO_CACHE)
  find_library(attn_blas NAMES openblaso openblas cblas blas NO_CACHE)
endif()
if(NOT attn_blas)
  attn_missing(blas "Matrix products need a BLAS library; -DATTN_BLAS=... names one that is somewhere else.")
endif()

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${attn_blas})
if(NOT "${attn_blas}" STREQUAL "${ATTN_BLAS_CHECKED}")
  unset(ATTN_BLAS_HAS_CBLAS CACHE)
  set(ATTN_BLAS_CHECKED "${attn_blas}" CACHE INTERNAL "the library that was checked last")
endif()
check_cxx_source_compiles("extern \"C\" void cblas_dgemm(); int main() { cblas_dgemm(); }" ATTN_BLAS_HAS_CBLAS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT ATTN_BLAS_HAS_CBLAS)
  message(FATAL_ERROR "BLAS: wanted a library with the function cblas_dgemm, got ${attn_blas}, which has none. "
          "Install OpenBLAS, or name a library with -DATTN_BLAS=...")
endif()
message(STATUS "BLAS: ${attn_blas}")

find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(FATAL_ERROR "OpenMP was not found. The engine shares its work among the cores with it; g++ brings it along, "
          "for clang it is a package of its own.\n  Debian, Ubuntu:  sudo apt-get install libomp-dev\n"
          "  Fedora:          sudo dnf install libomp-devel\n  Homebrew:        brew install libomp\n"
          "Then configure again.")
endif()

find_package(xtensor QUIET)
if(NOT xtensor_FOUND)
  attn_missing(xtensor "Matrices are xtensor's.")
endif()
message(STATUS "xtensor: ${xtensor_VERSION}")

set(headers "xtensor-blas:xtensor-blas/xblas.hpp" "json:nlohmann/json.hpp")
if(PROJECT_IS_TOP_LEVEL)
  list(APPEND headers "cli11:CLI/CLI.hpp")  # for the programs
endif()
foreach(header IN LISTS headers)
  string(REGEX REPLACE ":.*" "" what ${header})
  string(REGEX REPLACE ".*:" "" file ${header})
  find_path(ATTN_${what}_INCLUDE ${file})
  mark_as_advanced(ATTN_${what}_INCLUDE)
  if(NOT ATTN_${what}_INCLUDE)
    attn_missing(${what} "Its header ${file} is needed to build.")
  endif()
endforeach()
