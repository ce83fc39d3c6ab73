# find_package(attn) from an installed copy.
include(CMakePackageConfigHelpers)
install(TARGETS attn_library EXPORT attnTargets)
if(TARGET attn)
  install(TARGETS attn)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/attn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/golden DESTINATION ${CMAKE_INSTALL_DATADIR}/attn PATTERN generate EXCLUDE)
install(EXPORT attnTargets NAMESPACE attn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attn)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attnConfig.cmake.in ${PROJECT_BINARY_DIR}/attnConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attn)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attnConfig.cmake ${PROJECT_BINARY_DIR}/attnConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attn)
