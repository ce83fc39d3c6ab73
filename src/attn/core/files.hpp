/// @file
/// @brief Whole files and folders, in and out. What is written here survives a kill, a full disk and a power cut:
/// under its own name there is the old or the new, never half of one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Reads a whole file.
/// @param path  which
/// @return      its bytes
/// @throws InputError when it is missing, a folder, cannot be read, or is a pipe or device with more than 256 MiB
std::string read_file(const std::filesystem::path& path);

/// Writes a whole file: aside, into a new file `path.part`, which is brought to the disk and then renamed. Makes
/// the folders above it. When this returns, the file is on the disk. Several may write to the same path at once:
/// each has a file of its own aside (`path.1.part`, ...), and the last to finish stays. Only a kill leaves such a
/// file behind.
/// @param path   where
/// @param bytes  its new content
/// @throws InputError saying what went wrong; the old file is then still there, unless the disk failed after the
///         renaming
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes a folder, with all above it. When this returns, they are on the disk. A folder that is there already
/// stays.
/// @param folder  which
/// @throws InputError saying what went wrong
void make_folders(const std::filesystem::path& folder);

/// Makes a folder of files appear at once: they are written into the folder `path.part`, which is brought to the
/// disk and then renamed. Makes the folders above it. What a kill left in `path.part` is removed first, so only
/// one may write to the same path at a time.
/// @param path   where; a folder that is there already is refused, before anything is written: remove_folder() it
/// @param write  writes the files; it is told the folder to write them into
/// @throws InputError saying what went wrong, and whatever `write` throws; no folder is left then, unless the disk
///         failed after the renaming
void write_folder(const std::filesystem::path& path,
                  const std::function<void(const std::filesystem::path& aside)>& write);

/// Removes a folder with all that is in it. It is renamed to `path.part` first, so that a kill never leaves half
/// of it under its own name.
/// @param path  which
/// @throws InputError when it is missing, no folder, or cannot be removed
void remove_folder(const std::filesystem::path& path);

/// An open file or folder, closed at its end.
struct OpenFile {
  OpenFile() = default;
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number = -1;  ///< as the system counts it; -1 for none
};

/// A folder that is locked while this lives, so that one program at a time writes to it. The lock is a lock on the
/// file `.lock` in it, and belongs to the folder itself: the folder may be renamed meanwhile.
class OwnFolder {
 public:
  /// Makes the folder if it is not there, and locks it.
  /// @param path  which
  /// @throws InputError when it cannot be made or written, or another program has locked it
  explicit OwnFolder(const std::filesystem::path& path);
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  /// @return its present name: the one that it was given here as long as that leads to it, then an absolute one
  /// @throws InputError when the folder has been removed
  std::filesystem::path path() const;

  /// Makes it the current folder of the whole program while something is done. Relative names then lead into this
  /// folder, even if it is renamed, or another one takes its name, at any moment.
  /// @param act  what is done
  /// @throws InputError when the folder has been removed, and whatever `act` throws; the folder's name is put in
  ///         front of its InputErrors, which name files in it
  void inside(const std::function<void()>& act) const;

 private:
  std::filesystem::path path_;
  OpenFile folder_, lock_;
};

}  // namespace attn
