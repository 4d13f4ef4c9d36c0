// SPDX-License-Identifier: Apache-2.0
//! The real 128-bit word in a real file, between two processes that both go as fast as they can.
//!
//! The other process asks in bursts, and after each burst waits until its newest command was emitted; a command that is
//! erased without being taken never is. Every taken command is whole: id, epoch and flag say the same number.
#![cfg(not(loom))]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use framegate_checkpoint::injector::{Handle, Injector};
use framegate_checkpoint::mapping::SharedWord;
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::word::{self, unpack};

const BURSTS: u64 = 10_000;
const FILE: &str = "FRAMEGATE_TEST_WORD";
/// After this long without an answer, a command counts as lost.
const WATCHDOG: Duration = Duration::from_secs(60);

fn command(number: u64) -> CheckpointBarrier {
    CheckpointBarrier::with(number, number, number % 2 == 1)
}

/// Pins this thread to a core of its own, if there is one: on a shared core the two processes would take turns and
/// never meet.
fn stay_on(core: usize) {
    if std::thread::available_parallelism().is_ok_and(|cores| core < cores.get()) {
        // SAFETY: a set of this thread's own, zeroed and then with one core in it; the call reads it and does not keep
        // it.
        unsafe {
            let mut cores: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut cores);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cores);
        }
    }
}

fn other_process(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "ask_from_another_process", "--nocapture"])
        .env(FILE, path)
        .spawn()
        .expect("a process")
}

#[test]
fn no_command_is_erased_and_none_is_a_mixture() {
    let path = PathBuf::from(format!("/dev/shm/framegate-word-{}", std::process::id()));
    let shared = Arc::new(SharedWord::create(&path).expect("a file"));
    let mut injector = Injector::new(Arc::clone(&shared), None);
    let (mut child, mut taken, mut last) = (other_process(&path), 0_u64, 0);
    stay_on(0);
    let ended = loop {
        for _ in 0..1000 {
            if let Some(found) = injector.poll(0) {
                assert_eq!(found, command(found.checkpoint_id), "a mixture");
                assert!(found.checkpoint_id > last, "twice, or backwards");
                (last, taken) = (found.checkpoint_id, taken + 1);
            }
        }
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::yield_now();
    };
    drop(std::fs::remove_file(&path));
    assert!(ended.success(), "the other process lost a command after {last}");
    println!("{last} commands in {BURSTS} bursts, {taken} of them taken before a newer one came");
    assert!(taken >= BURSTS && last > taken, "no command ever met another");
}

/// The other process of the test above, not a test by itself.
#[test]
#[ignore = "run by the other test, in a process of its own"]
fn ask_from_another_process() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let shared = Arc::new(SharedWord::open(Path::new(&path)).expect("the file"));
    let handle = Handle::new(Arc::clone(&shared));
    stay_on(1);
    let mut number = 0;
    for burst in 0..BURSTS {
        for _ in 0..1 + burst % 32 {
            number += 1;
            handle.inject(command(number)).expect("it fits");
        }
        let asked = Instant::now();
        while unpack(shared.last().load(Ordering::Acquire)).is_none_or(|last| last.checkpoint_id != number) {
            assert!(asked.elapsed() < WATCHDOG, "command {number} was erased: {:?}", word::take(shared.word()));
            std::thread::yield_now();
        }
    }
}
