# The head of every page: Doxygen's own, so that it fits the installed version, with our scripts in place of MathJax.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${DOXYGEN} -w html ${OUT}/doxygen_header.html ${OUT}/doxygen_footer.html ${OUT}/doxygen.css
                RESULT_VARIABLE failed OUTPUT_QUIET)
if(failed)
  message(FATAL_ERROR "${DOXYGEN} -w html failed: ${failed}")
endif()
file(READ ${OUT}/doxygen_header.html header)

macro(replace_once old new)
  string(FIND "${header}" "${old}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "Doxygen's page header has no '${old}' any more: see ${OUT}/doxygen_header.html "
                        "and mend cmake/docs_header.cmake")
  endif()
  string(REPLACE "${old}" "${new}" header "${header}")
endmacro()

set(scripts
  "<link href=\"$relpath^katex.min.css\" rel=\"stylesheet\" type=\"text/css\"/>\n"
  "<script type=\"text/javascript\" src=\"$relpath^doxygen-awesome-darkmode-toggle.js\"></script>\n")
foreach(script katex.min ${AUTO_RENDER} doxygen-awesome-fragment-copy-button doxygen-awesome-paragraph-link
               doxygen-awesome-interactive-toc search_data docs)
  string(REGEX REPLACE "\\.js$" "" script ${script})
  list(APPEND scripts "<script type=\"text/javascript\" defer=\"defer\" src=\"$relpath^${script}.js\"></script>\n")
endforeach()
list(JOIN scripts "" scripts)
replace_once("$mathjax" "${scripts}")
if(NOT header MATCHES "<html[^>]* lang=")
  replace_once("<html " "<html lang=\"en\" ")
endif()
file(WRITE ${OUT}/header.html "${header}")
