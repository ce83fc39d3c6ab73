# How the house is put together. A room is a folder of src/attn, compiled once; a lesson is the source of one idea
# of the reference. All of them go into the one archive attn::attn, and a chapter's program links the rooms and the
# lessons up to its own, so that a program which reaches forward does not link.

add_library(attn_build INTERFACE)
target_include_directories(attn_build INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(attn_build INTERFACE xtensor ${attn_blas} ${CMAKE_DL_LIBS})

# attn_room(core core/matrix.cpp ...): sources are relative to src/attn. With UPSTAIRS it is in the library only: the
# chapters up to 9 do without it.
function(attn_room name)
  cmake_parse_arguments(room "UPSTAIRS" "" "" ${ARGN})
  list(TRANSFORM room_UNPARSED_ARGUMENTS PREPEND ${PROJECT_SOURCE_DIR}/src/attn/ OUTPUT_VARIABLE sources)
  add_library(attn-room-${name} OBJECT ${sources})
  target_link_libraries(attn-room-${name} PRIVATE attn_build)
  if(room_UPSTAIRS)
    target_link_libraries(attn-room-${name} PRIVATE OpenMP::OpenMP_CXX)
    set_property(GLOBAL APPEND PROPERTY ATTN_ROOMS_UPSTAIRS attn-room-${name})
  else()
    set_property(GLOBAL APPEND PROPERTY ATTN_ROOMS attn-room-${name})
  endif()
endfunction()

# attn_lesson(03 reference/scaling.cpp): what chapter 03 adds to the reference.
function(attn_lesson number)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/attn/ OUTPUT_VARIABLE sources)
  add_library(attn-lesson-${number} OBJECT ${sources})
  target_link_libraries(attn-lesson-${number} PRIVATE attn_build)
  set_property(GLOBAL APPEND PROPERTY ATTN_LESSONS ${number})
endfunction()

# attn_objects(variable 03): the compiled rooms, and the lessons up to that chapter; 99 stands for everything.
function(attn_objects variable number)
  get_property(parts GLOBAL PROPERTY ATTN_ROOMS)
  get_property(lessons GLOBAL PROPERTY ATTN_LESSONS)
  foreach(lesson ${lessons})
    if(lesson LESS_EQUAL number)
      list(APPEND parts attn-lesson-${lesson})
    endif()
  endforeach()
  if(number EQUAL 99)
    get_property(upstairs GLOBAL PROPERTY ATTN_ROOMS_UPSTAIRS)
    list(APPEND parts ${upstairs})
  endif()
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(${variable} ${parts} PARENT_SCOPE)
endfunction()

# What trains or translates is built with the whole library.
set(ATTN_CHAPTERS_WITH_ALL 10 11 14 15)

# attn_link_up_to(target 03): builds a program with them.
function(attn_link_up_to target number)
  if(number IN_LIST ATTN_CHAPTERS_WITH_ALL)
    target_link_libraries(${target} PRIVATE attn_library attn_build)
    return()
  endif()
  attn_objects(objects ${number})
  target_sources(${target} PRIVATE ${objects})
  target_link_libraries(${target} PRIVATE attn_build)
endfunction()

# attn_chapter(03-scaling): its program, its exercises, its page, and the tests of all three. A program that trains is
# slow under sanitizers: there it gets the options behind WHEN_SANITIZED, and its words are not compared.
function(attn_chapter name)
  cmake_parse_arguments(chapter "" "" "WHEN_SANITIZED" ${ARGN})
  string(SUBSTRING ${name} 0 2 number)
  set(folder ${PROJECT_SOURCE_DIR}/chapters/${name})
  set(program chapter-${number})
  add_executable(${program} ${folder}/main.cpp)
  target_link_libraries(${program} PRIVATE attn_program attn_start)
  add_dependencies(programs ${program})
  target_compile_options(${program} PRIVATE ${ATTN_QUICK_TO_COMPILE})
  attn_link_up_to(${program} ${number})

  # The transcript and the pictures: a run must say and draw what the tree holds.
  set(run ${PROJECT_BINARY_DIR}/runs/${name})
  add_custom_target(update-${number}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DCHAPTER=${folder} -DRUN=${run}
            -P ${PROJECT_SOURCE_DIR}/cmake/run_chapter.cmake
    COMMAND ${CMAKE_COMMAND} -E copy ${run}/output.txt ${folder}/output.txt
    COMMAND ${CMAKE_COMMAND} -DRUN=${run} -DCHAPTER=${folder} -P ${PROJECT_SOURCE_DIR}/cmake/copy_pictures.cmake
    DEPENDS ${program} VERBATIM)
  attn_add_page(chapters/${name}/README.md chapters/${name}/output.txt)
  add_dependencies(weave_page_ch${number} update-${number})
  if(BUILD_TESTING)
    set(compare -DCOMPARE=$<TARGET_FILE:same_text>)
    set(labels chapter-${number})
    if(chapter_WHEN_SANITIZED)
      list(APPEND labels long)
      set(cost 200)  # begins first, so that nobody waits for it alone in the end
    endif()
    if(ATTN_SANITIZE AND chapter_WHEN_SANITIZED)
      set(compare "-DOPTIONS=${chapter_WHEN_SANITIZED}")
    endif()
    add_test(NAME chapter-${number}.transcript
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DCHAPTER=${folder} -DRUN=${run} "${compare}"
              -P ${PROJECT_SOURCE_DIR}/cmake/run_chapter.cmake)
    set_tests_properties(chapter-${number}.transcript PROPERTIES LABELS "${labels}" COST "${cost}")
  endif()

  file(GLOB tasks CONFIGURE_DEPENDS RELATIVE ${folder}/exercises ${folder}/exercises/*.cpp)
  foreach(task ${tasks})
    string(REGEX REPLACE "\\.cpp$" "" id ${task})
    if(NOT ATTN_SANITIZE)  # there is nothing in a task yet that could go wrong
      attn_exercise(exercise-${number}.${id}.task ${number} ${folder}/exercises/${task} TASK)
    endif()
    attn_exercise(exercise-${number}.${id}.answer ${number} ${folder}/exercises/answers/${task} ANSWER)
  endforeach()

  # The reader's own attempts, if any.
  add_custom_target(my-${number})
  file(GLOB attempts CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/my/${name} ${PROJECT_SOURCE_DIR}/my/${name}/*.cpp)
  foreach(attempt ${attempts})
    if(NOT attempt MATCHES "^[A-Za-z0-9._-]+$")
      message(STATUS "my/${name}/${attempt} is left out: its name should have letters, digits, '.', '_' and '-' only")
      continue()
    endif()
    string(REGEX REPLACE "\\.cpp$" "" id ${attempt})
    attn_exercise(my-${number}.${id} ${number} ${PROJECT_SOURCE_DIR}/my/${name}/${attempt} MINE)
    add_dependencies(my-${number} my-${number}.${id})
  endforeach()
endfunction()

# attn_header_compiled_once(target header...): a target that only compiles headers; others borrow them by REUSE_FROM,
# and must be built with the same options.
function(attn_header_compiled_once target)
  file(WRITE ${PROJECT_BINARY_DIR}/generated/${target}.cpp "int main() {}\n")
  add_executable(${target} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/${target}.cpp)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# attn_exercise(target 03 file TASK|ANSWER|MINE): a task must fail by its own assertion, an answer must pass.
function(attn_exercise target number file kind)
  if(kind STREQUAL "MINE")
    add_executable(${target} EXCLUDE_FROM_ALL ${file})
  elseif(BUILD_TESTING)
    add_executable(${target} ${file})
    get_filename_component(task ${file} NAME)
    string(REGEX REPLACE "/(answers/)?[^/]*$" "" exercises ${file})
    add_test(NAME ${target} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DKIND=${kind}
                                    -DTASK=${exercises}/${task} -DANSWER=${exercises}/answers/${task}
                                    -P ${PROJECT_SOURCE_DIR}/cmake/run_exercise.cmake)
    set_tests_properties(${target} PROPERTIES LABELS "chapter-${number};exercises")
  else()
    return()
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/chapters)
  target_compile_options(${target} PRIVATE ${ATTN_QUICK_TO_COMPILE})
  target_precompile_headers(${target} REUSE_FROM exercise_header)
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)  # the options that the header was compiled with
  attn_link_up_to(${target} ${number})
endfunction()

# attn_test(name [BY_CHAPTER] LABELS a b SOURCES x.cpp ...): a Catch2 program, one CTest test; BY_CHAPTER, one for
# each chapter that its test cases are tagged with.
function(attn_test name)
  cmake_parse_arguments(test "BY_CHAPTER" "" "LABELS;SOURCES" ${ARGN})
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE test_setup attn_library catch_main)
  target_precompile_headers(${name} REUSE_FROM test_header)
  if(NOT test_BY_CHAPTER)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${test_LABELS}")
    return()
  endif()
  get_property(lessons GLOBAL PROPERTY ATTN_LESSONS)
  foreach(lesson ${lessons})
    add_test(NAME ${name}.chapter-${lesson} COMMAND ${name} "[chapter-${lesson}]" ${catch_no_tests_fails})
    set_tests_properties(${name}.chapter-${lesson} PROPERTIES LABELS "${test_LABELS};chapter-${lesson}")
  endforeach()
endfunction()
