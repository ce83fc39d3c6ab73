// The commands of `attn`, one file each. Every one returns its exit status.
#pragma once

#include <filesystem>
#include <string>

namespace attn {

/// `attn check CASE DIR`: holds the .npy files of a folder against a golden case.
int check_command(const std::string& case_name, const std::filesystem::path& folder,
                  const std::filesystem::path& golden);

/// `attn check --list`: the cases there are.
int list_command(const std::filesystem::path& golden);

/// `attn doctor`: what is here, and what to install.
int doctor_command();

}  // namespace attn
