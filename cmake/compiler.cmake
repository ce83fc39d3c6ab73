# The language, the warnings, and where things are put. All but the build type ends with this folder: a project that
# takes the course in keeps its own.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # so that a shared library can take attn::attn in
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for clang-tidy
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

option(ATTN_WARNINGS_AS_ERRORS "Stop at the first warning" OFF)
set(ATTN_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined or thread")

# Numbers must not depend on whether the compiler fuses a multiplication with an addition.
add_compile_options(-Wall -Wextra -Wpedantic -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false alarms on "text" + std::string (GCC bug 105651)
endif()
if(ATTN_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(ATTN_SANITIZE)
  add_compile_options(-fsanitize=${ATTN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ATTN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms inside std::regex, only under sanitizers
  endif()
endif()

# For what computes little itself, such as tests: it should compile fast rather than run fast.
set(ATTN_QUICK_TO_COMPILE $<$<CONFIG:Release>:-O1>)
if(ATTN_SANITIZE)
  set(ATTN_QUICK_TO_COMPILE -O0)
endif()
