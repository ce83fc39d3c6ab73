# Puts the pictures of a run into the chapter's folder: cmake -DRUN=... -DCHAPTER=... -P copy_pictures.cmake
cmake_minimum_required(VERSION 3.22)
file(GLOB pictures ${RUN}/*.svg)
foreach(picture ${pictures})
  file(COPY ${picture} DESTINATION ${CHAPTER})
endforeach()
