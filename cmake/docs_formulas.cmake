# Renders every formula of the pages and of the headers with KaTeX, under Duktape.
execute_process(COMMAND ${WEAVE} formulas ${FILES} OUTPUT_FILE ${OUT}/formulas.js RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "weave formulas failed: ${failed}")
endif()
execute_process(COMMAND ${DUK} ${KATEX}/katex.min.js ${OUT}/formulas.js ${CHECK} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "KaTeX cannot render the formulas above")
endif()
