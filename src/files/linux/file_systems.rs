//! Properties of file systems, by their numbers in statfs(2).

use rustix::fs::FsWord;

const BTRFS: FsWord = 0x9123_683e;
/// ext2, ext3 and ext4.
const EXT: FsWord = 0xef53;
const F2FS: FsWord = 0xf2f5_2010;
const XFS: FsWord = 0x5846_5342;

/// Whether the first write through a mapping after the file was flushed to the disk gives the file new times.
pub(super) fn renews_times(system: FsWord) -> bool {
    matches!(system, EXT | XFS | BTRFS | F2FS)
}
