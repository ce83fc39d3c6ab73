# The documentation: weave keeps the pages in step with code and output, Doxygen builds the site, check_links and
# KaTeX look it over. Without Doxygen the pages are still woven and checked.

add_library(docs_tools STATIC
  docs/tools/weave/blocks.cpp docs/tools/weave/doxygen.cpp docs/tools/weave/doxygen_inline.cpp
  docs/tools/weave/formulas.cpp docs/tools/weave/html.cpp docs/tools/weave/inline.cpp docs/tools/weave/letters.cpp
  docs/tools/weave/lines.cpp docs/tools/weave/numbers.cpp docs/tools/weave/page.cpp docs/tools/weave/quoting.cpp
  docs/tools/weave/script.cpp docs/tools/weave/search.cpp docs/tools/weave/slug.cpp docs/tools/weave/weaving.cpp
  docs/tools/links/built.cpp docs/tools/links/markdown.cpp docs/tools/links/tags.cpp)
target_include_directories(docs_tools PUBLIC docs/tools)
target_compile_options(docs_tools PRIVATE $<$<CONFIG:Release>:-O1>)  # its tests take long enough as it is
add_executable(weave docs/tools/weave.cpp)
add_executable(check_links docs/tools/check_links.cpp)
target_link_libraries(weave PRIVATE docs_tools)
target_link_libraries(check_links PRIVATE docs_tools)

add_custom_target(weave_pages)

# attn_add_page(chapters/01-similarity/README.md chapters/01-similarity/output.txt): weaves the page with weave_pages,
# and tests that it is in step. Paths are relative to the project.
function(attn_add_page page transcript)
  get_filename_component(folder ${page} DIRECTORY)
  get_filename_component(id ${folder} NAME)
  set(labels docs)
  if(page MATCHES "chapters/([0-9][0-9])-[^/]*/")
    set(id ch${CMAKE_MATCH_1})
    list(APPEND labels chapter-${CMAKE_MATCH_1})
  endif()
  set(files ${PROJECT_SOURCE_DIR}/${page} ${PROJECT_SOURCE_DIR}/${transcript})
  add_custom_target(weave_page_${id} COMMAND weave update ${files} VERBATIM)
  add_dependencies(weave_pages weave_page_${id})
  if(BUILD_TESTING)
    add_test(NAME docs.page-${id} COMMAND weave check ${files})
    set_tests_properties(docs.page-${id} PROPERTIES LABELS "${labels}")
  endif()
endfunction()

if(BUILD_TESTING)
  add_test(NAME docs.markdown-links COMMAND check_links --markdown ${PROJECT_SOURCE_DIR})
  set_tests_properties(docs.markdown-links PROPERTIES LABELS docs)
endif()

find_package(Doxygen 1.9.4 QUIET)
find_path(KATEX_DIR katex.min.js PATHS /usr/share/javascript/katex /usr/share/nodejs/katex/dist
          DOC "Where KaTeX lies: katex.min.js, katex.min.css, fonts/, contrib/")
find_path(AWESOME_DIR doxygen-awesome.css PATHS /usr/share/doxygen-awesome-css DOC "Where doxygen-awesome-css lies")
find_program(DUK duk DOC "Duktape, which renders every formula in a test")
if(NOT DOXYGEN_FOUND OR NOT KATEX_DIR OR NOT AWESOME_DIR)
  message(STATUS "No docs: they need Doxygen 1.9.4 or later, KaTeX and doxygen-awesome-css "
                 "(Debian: doxygen libjs-katex fonts-katex doxygen-awesome-css)")
  file(REMOVE ${PROJECT_BINARY_DIR}/docs/available)
  return()
endif()

# The pages, in the order of the side bar; a page of docs/ that is not named here comes last.
set(docs_pages docs/main.md chapters/README.md)
file(GLOB docs_chapters CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} chapters/[0-9][0-9]-*/README.md)
file(GLOB docs_others CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} docs/*.md)
list(APPEND docs_pages ${docs_chapters} docs/notation.md docs/glossary.md docs/choices.md docs/architecture.md
     golden/README.md docs/adding-a-chapter.md docs/bibliography.md ${docs_others})
list(REMOVE_DUPLICATES docs_pages)
list(TRANSFORM docs_pages PREPEND ${PROJECT_SOURCE_DIR}/)
list(FILTER docs_pages EXCLUDE REGEX "\\.[A-Za-z-]+\\.md$")  # translations have a site of their own
foreach(page ${docs_pages})
  if(NOT EXISTS ${page})
    list(REMOVE_ITEM docs_pages ${page})
  endif()
endforeach()
file(GLOB_RECURSE docs_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/attn/*.hpp)
file(GLOB docs_pictures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chapters/*/*.svg ${PROJECT_SOURCE_DIR}/docs/*.svg)

set(docs_out ${PROJECT_BINARY_DIR}/docs)
set(docs_html ${docs_out}/html)
set(docs_input ${docs_pages} ${PROJECT_SOURCE_DIR}/src/attn)
list(TRANSFORM docs_input REPLACE "(.+)" "\"\\1\"")
list(JOIN docs_input " \\\n                         " docs_input)
set(katex_auto_render auto-render.js)
if(NOT EXISTS ${KATEX_DIR}/contrib/auto-render.js)
  set(katex_auto_render auto-render.min.js)
endif()
configure_file(docs/Doxyfile.in ${docs_out}/Doxyfile.configured @ONLY)
file(GENERATE OUTPUT ${docs_out}/Doxyfile INPUT ${docs_out}/Doxyfile.configured)
file(WRITE ${docs_out}/available "The target docs makes ${docs_html}/index.html.\n")

add_custom_command(OUTPUT ${docs_out}/built
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${docs_html} ${docs_out}/built
  COMMAND ${CMAKE_COMMAND} -DDOXYGEN=${DOXYGEN_EXECUTABLE} -DOUT=${docs_out} -DAUTO_RENDER=${katex_auto_render}
          -P ${PROJECT_SOURCE_DIR}/cmake/docs_header.cmake
  COMMAND ${DOXYGEN_EXECUTABLE} ${docs_out}/Doxyfile
  COMMAND weave search ${docs_pages} > ${docs_html}/search_data.js
  COMMAND ${CMAKE_COMMAND} -DKATEX=${KATEX_DIR} -DHTML=${docs_html} "-DPICTURES=${docs_pictures}"
          -P ${PROJECT_SOURCE_DIR}/cmake/docs_assets.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${docs_out}/built
  DEPENDS weave ${docs_pages} ${docs_headers} ${docs_pictures} ${docs_out}/Doxyfile
          docs/layout.xml docs/assets/attn.css docs/assets/docs.js cmake/docs_header.cmake cmake/docs_assets.cmake
  WORKING_DIRECTORY $<TARGET_FILE_DIR:weave>  # Doxygen splits the name of its filter at blanks: ./weave has none
  COMMENT "Documentation: ${docs_html}/index.html" VERBATIM)
add_custom_target(docs DEPENDS ${docs_out}/built)
if(ATTN_INSTALL)
  install(DIRECTORY ${docs_html} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()

if(BUILD_TESTING)
  add_test(NAME docs.build
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target docs --config $<CONFIG>)
  add_test(NAME docs.links COMMAND check_links ${docs_html})
  add_test(NAME docs.network COMMAND check_links --network ${docs_html})
  set_tests_properties(docs.build PROPERTIES LABELS docs FIXTURES_SETUP docs RESOURCE_LOCK site)
  set_tests_properties(docs.links docs.network PROPERTIES LABELS docs FIXTURES_REQUIRED docs)
  if(DUK)
    add_test(NAME docs.formulas
      COMMAND ${CMAKE_COMMAND} -DWEAVE=$<TARGET_FILE:weave> -DDUK=${DUK} -DKATEX=${KATEX_DIR} -DOUT=${docs_out}
              -DCHECK=${PROJECT_SOURCE_DIR}/docs/tools/check_formulas.js "-DFILES=${docs_pages};${docs_headers}"
              -P ${PROJECT_SOURCE_DIR}/cmake/docs_formulas.cmake)
    set_tests_properties(docs.formulas PROPERTIES LABELS docs)
  endif()
endif()
