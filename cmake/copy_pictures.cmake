# Puts the pictures of a run into the chapter's folder: cmake -DRUN=... -DCHAPTER=... -P copy_pictures.cmake
file(GLOB pictures ${RUN}/*.svg)
foreach(picture ${pictures})
  file(COPY ${picture} DESTINATION ${CHAPTER})
endforeach()
