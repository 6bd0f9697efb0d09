//! The file systems that are known here, by their numbers in statfs(2), and what is known of them.

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

/// Whether it gives a file new times with each write through a mapping that comes after it was written to the disk.
pub(super) fn renews_times(system: FsWord) -> bool {
    matches!(system, EXT | XFS | BTRFS | F2FS)
}

/// Whether this machine has its contents: a read of any other may have to wait for somebody else.
pub(crate) fn is_of_this_machine(system: FsWord) -> bool {
    matches!(system, BTRFS | EROFS | EXT | F2FS | OVERLAYFS | SQUASHFS | TMPFS | XFS | ZFS)
}
