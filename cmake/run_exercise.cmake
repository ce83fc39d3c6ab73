# Runs an exercise: a TASK must end with 1 and say what is missing; an ANSWER must end with 0, and be the task with
# nothing changed but the region that the reader fills in.
#   cmake -DPROGRAM=... -DKIND=TASK|ANSWER -DTASK=... -DANSWER=... -P run_exercise.cmake
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE complained)
message("${said}${complained}")
file(READ ${TASK} task)
file(READ ${ANSWER} answer)
string(REGEX REPLACE "// \\[task\\].*// \\[task\\]" "" task "${task}")
string(REGEX REPLACE "// \\[answer\\].*// \\[answer\\]" "" answer "${answer}")
if(NOT task STREQUAL answer)
  message(FATAL_ERROR "${TASK} and ${ANSWER} differ outside the regions [task] and [answer]")
endif()
if(KIND STREQUAL "ANSWER" AND NOT status EQUAL 0)
  message(FATAL_ERROR "The answer does not pass: it ended with ${status}")
elseif(KIND STREQUAL "TASK" AND NOT status EQUAL 1)
  message(FATAL_ERROR "The task must fail by its own check, with 1: it ended with ${status}")
elseif(KIND STREQUAL "TASK" AND NOT complained MATCHES "Not yet: ")
  message(FATAL_ERROR "The task failed without saying \"Not yet: \" and what is missing")
endif()
