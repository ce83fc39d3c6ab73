message(FATAL_ERROR "the course included a file of its host")
