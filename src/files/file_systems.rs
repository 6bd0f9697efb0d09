//! What is known about file systems, by their numbers in statfs(2).

use rustix::fs::FsWord;

const BTRFS: FsWord = 0x9123_683e;
const EROFS: FsWord = 0xe0f5_e1e2;
/// ext2, ext3 and ext4.
const EXT: FsWord = 0xef53;
const F2FS: FsWord = 0xf2f5_2010;
const OVERLAYFS: FsWord = 0x794c_7630;
const SQUASHFS: FsWord = 0x7371_7368;
const TMPFS: FsWord = 0x0102_1994;
const XFS: FsWord = 0x5846_5342;
const ZFS: FsWord = 0x2fc1_2fc1;

/// Whether the first write through a mapping after the file was flushed to the disk gives the file new times.
pub(super) fn renews_times(system: FsWord) -> bool {
    matches!(system, EXT | XFS | BTRFS | F2FS)
}

/// Whether its contents are on this machine: a read from any other file system may have to wait for another machine or a
/// process.
pub(crate) fn is_of_this_machine(system: FsWord) -> bool {
    matches!(system, BTRFS | EROFS | EXT | F2FS | OVERLAYFS | SQUASHFS | TMPFS | XFS | ZFS)
}
