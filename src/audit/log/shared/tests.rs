use std::fs::{self, File};
use std::io::{Read, Write};
use std::time::Instant;

use super::unix::unlock;
use super::*;

#[test]
fn who_only_holds_the_lock_is_waited_for_once_and_who_appends_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut own = SharedFile::open(&path, &[]).unwrap();
    // How long this waited, within bounds that also hold on a busy machine.
    let waited = |own: &mut SharedFile| match own.lock() {
        Err(SharedFileError::Busy { waited }) if waited >= Patience::MOST => Patience::MOST,
        Err(SharedFileError::Busy { waited }) if waited >= Patience::LEAST => Patience::LEAST,
        other => panic!("{other:?}"),
    };
    own.lock().unwrap().append(b"own\n").unwrap();
    // A descriptor for reading is enough.
    let reader = File::open(&path).unwrap();
    let lock = || rustix::fs::flock(&reader, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
    lock();
    assert_eq!(waited(&mut own), Patience::MOST);
    assert_eq!(waited(&mut own), Patience::LEAST);
    assert_eq!(waited(&mut own), Patience::LEAST);
    // Releasing the lock for a moment does not restart the wait.
    unlock(&reader);
    own.lock().unwrap().append(b"own\n").unwrap();
    lock();
    assert_eq!(waited(&mut own), Patience::LEAST);
    // Somebody else has appended, and so can still be at it.
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"other\n").unwrap();
    assert_eq!(waited(&mut own), Patience::MOST);
    assert_eq!(waited(&mut own), Patience::LEAST);
    unlock(&reader);
    for _ in 0..100 {
        drop(own.lock().unwrap());
    }
    lock();
    assert_eq!(waited(&mut own), Patience::MOST);
}

#[test]
fn a_file_that_grows_is_waited_for_until_the_turn_comes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let [mut own, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
    let mut locked = other.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // As several servers do that append in turn: the lock is never free, and the file grows.
            let end = Instant::now() + 2 * Patience::MOST;
            while Instant::now() < end {
                locked.append(b"other\n").unwrap();
                std::thread::sleep(Patience::MOST / 20);
            }
        });
        own.lock().unwrap().append(b"own\n").unwrap();
    });
    assert!(fs::read_to_string(&path).unwrap().ends_with("other\nown\n"));
}

#[test]
fn one_at_a_time_has_the_right_to_append() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let [mut one, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
    let locked = one.lock().unwrap();
    assert!(matches!(other.lock(), Err(SharedFileError::Busy { .. })));
    drop(locked);
    drop(other.lock().unwrap());
    one.lock().unwrap();
}

#[test]
fn a_file_that_is_moved_away_is_unlocked_though_somebody_still_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut own = SharedFile::open(&path, &[]).unwrap();
    let mut locked = own.lock().unwrap();
    locked.append(b"old\n").unwrap();
    let mut read = locked.shared.reader().open().unwrap();
    locked.begin_anew(&"log.1".into()).unwrap();
    let old = File::open(directory.path().join("log.1")).unwrap();
    rustix::fs::flock(&old, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    locked.append(b"new\n").unwrap();
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    locked.shared.reader().open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "old\nnew\n");
}

#[test]
fn a_new_file_is_found_by_all_and_what_was_removed_by_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let [mut one, mut other] = [(), ()].map(|()| SharedFile::open(&path, &[]).unwrap());
    let mut locked = one.lock().unwrap();
    locked.append(b"old\n").unwrap();
    fs::write(directory.path().join("log.1"), "taken").unwrap();
    assert!(locked.begin_anew(&"log.1".into()).is_err());
    locked.begin_anew(&"log.2".into()).unwrap();
    locked.append(b"new\n").unwrap();
    drop(locked);
    let mut locked = other.lock().unwrap();
    assert!(locked.is_another);
    locked.append(b"newer\n").unwrap();
    drop(locked);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new\nnewer\n");
    assert_eq!(fs::read_to_string(directory.path().join("log.2")).unwrap(), "old\n");
    fs::remove_file(&path).unwrap();
    assert!(matches!(one.lock(), Err(SharedFileError::Gone)));
    std::os::unix::fs::symlink(directory.path().join("log.1"), &path).unwrap();
    assert!(matches!(one.lock(), Err(SharedFileError::Taken { .. })));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    assert!(one.lock().unwrap().is_another);
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_file_is_locked_before_anybody_can_open_it() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut own = SharedFile::open(&path, &[]).unwrap();
    own.lock().unwrap().append(b"old\n").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Waits until the name is missing, and locks what has it next.
        let other = scope.spawn(|| {
            let mut was_missing = false;
            while !is_over.load(Ordering::Relaxed) {
                let Ok(file) = File::open(&path) else {
                    was_missing = true;
                    continue;
                };
                let locks = || rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
                if std::mem::take(&mut was_missing) && locks() && file.metadata().unwrap().len() == 0 {
                    return true;
                }
            }
            false
        });
        for number in 0..200 {
            let Ok(mut locked) = own.lock() else { break };
            if locked.begin_anew(&format!("log.{number}").into()).is_err() {
                break;
            }
            locked.append(b"new\n").unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(!other.join().unwrap());
    });
}
