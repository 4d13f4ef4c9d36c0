// SPDX-License-Identifier: Apache-2.0
//! Bells in files: who sleeps is woken, by whichever process; what belonged to a dead one is given away.
#![cfg(all(target_os = "linux", not(loom), not(miri)))]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use framegate_core::bell::{LONGEST_SLEEP_NS, Look, Sleeper, StreamBells, Woken, idle_or_sleep};
use framegate_core::idle::{IdleStrategy, Idler};

const STREAM: u32 = 10_001;
const EPOCH: u64 = 7;
const FOREVER_NS: u64 = u64::MAX;

struct Namespace(PathBuf);

impl Namespace {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(format!("/dev/shm/framegate-bell-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join(format!("{STREAM}/{EPOCH}"))).unwrap();
        fs::create_dir_all(path.join(format!("{}/{EPOCH}", STREAM + 1))).unwrap();
        fs::write(path.join("driver.lock"), "1").unwrap();
        Self(path)
    }

    fn stream(&self, number: u32) -> Arc<StreamBells> {
        let folder = self.0.join(format!("{}/{EPOCH}", STREAM + number));
        StreamBells::of(&folder, STREAM + number, EPOCH).unwrap().unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sleepy() -> Idler {
    let mut idler = Idler::new(IdleStrategy::Bell);
    while !idler.would_sleep() {
        idler.next_pause();
    }
    idler
}

fn sleeper(streams: &[Arc<StreamBells>]) -> Sleeper {
    let mut sleeper = Sleeper::default();
    sleeper.wait_for(streams.iter().map(|stream| Some((Arc::clone(stream), EPOCH))));
    sleeper
}

#[test]
fn whoever_sleeps_on_two_streams_misses_no_message_of_either() {
    let namespace = Namespace::new("two");
    let streams = [namespace.stream(0), namespace.stream(1)];
    let written = [AtomicU64::new(0), AtomicU64::new(0)];
    streams.iter().for_each(|stream| stream.promise(EPOCH));
    let count = 20_000;
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        for (stream, written) in streams.iter().zip(&written) {
            scope.spawn(move || {
                for _ in 0..count {
                    written.fetch_add(1, Ordering::Release);
                    stream.ring();
                    std::hint::black_box((0..200).sum::<u64>());
                }
            });
        }
        let (sleeper, mut idler, mut seen) = (sleeper(&streams), sleepy(), 0);
        let sum = || written.iter().map(|each| each.load(Ordering::Acquire)).sum::<u64>();
        while seen < 2 * count {
            let began = Instant::now();
            let look = || if sum() > seen { Look::Found } else { Look::Nothing };
            if idle_or_sleep(&mut idler, &sleeper, FOREVER_NS, Look::Nothing, look) == Some(Woken::Late) {
                longest = longest.max(began.elapsed());
            }
            seen = sum();
        }
    });
    // A wake that was missed would have ended with the time.
    assert_eq!(longest, Duration::ZERO, "a sleep went on to its end of {LONGEST_SLEEP_NS} ns beside a writer");
}

/// Sleeps of a reader whose writer, another process, sends one message after each answer; how many of the sleeps began.
fn sleeps_between_processes(messages: u64) -> u64 {
    let namespace = Namespace::new("processes");
    let streams = [namespace.stream(0), namespace.stream(1)];
    streams.iter().for_each(|stream| stream.promise(EPOCH));
    // SAFETY: a new shared page of zeros, which parent and child keep.
    let page = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: two words in the page, aligned, of zeros.
    let [sent, heard] = unsafe { &*page.cast::<[AtomicU64; 2]>() };
    let mut lines = [Arc::clone(&streams[0]), Arc::clone(&streams[1])];
    // SAFETY: the child only writes the words, rings the bells, and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        for message in 1..=messages {
            sent.store(message, Ordering::Release);
            lines[message as usize % 2].ring();
            while heard.load(Ordering::Acquire) != message {
                std::thread::yield_now();
            }
        }
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    lines.reverse();
    let (sleeper, mut idler, mut sleeps) = (sleeper(&lines), sleepy(), 0);
    for message in 1..=messages {
        while sent.load(Ordering::Acquire) != message {
            let look = || if sent.load(Ordering::Acquire) == message { Look::Found } else { Look::Nothing };
            let ended = idle_or_sleep(&mut idler, &sleeper, FOREVER_NS, Look::Nothing, look);
            assert_ne!(ended, Some(Woken::Late), "message {message} woke nobody");
            sleeps += u64::from(ended.is_some());
        }
        heard.store(message, Ordering::Release);
    }
    let mut status = 0;
    // SAFETY: waits for the child that was made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    sleeps
}

#[test]
fn no_wake_is_lost_between_two_processes() {
    assert!(sleeps_between_processes(20_000) > 0);
}

#[test]
#[ignore = "ten million sleeps take minutes: `make long`"]
fn no_wake_is_lost_in_ten_million_sleeps() {
    let mut sleeps = 0;
    while sleeps < 10_000_000 {
        sleeps += sleeps_between_processes(1_000_000);
    }
    println!("{sleeps} sleeps, and each was ended by the writer");
}

#[test]
fn a_stream_is_slept_on_only_while_its_writer_rings() {
    let namespace = Namespace::new("promise");
    let stream = namespace.stream(0);
    let sleeper = sleeper(&[Arc::clone(&stream)]);
    assert!(!sleeper.can_sleep(), "nobody promised to ring");
    stream.promise(EPOCH + 1);
    assert!(!sleeper.can_sleep(), "the promise is another epoch's");
    stream.promise(EPOCH);
    assert!(sleeper.can_sleep());
    stream.take_back(EPOCH + 1);
    assert!(sleeper.can_sleep(), "it was not its own to take back");
    stream.take_back(EPOCH);
    assert!(!sleeper.can_sleep());
}

#[test]
fn a_stream_without_bells_keeps_its_reader_awake() {
    let namespace = Namespace::new("without");
    let stream = namespace.stream(0);
    stream.promise(EPOCH);
    let mut sleeper = Sleeper::default();
    sleeper.wait_for([Some((stream, EPOCH)), None]);
    assert!(!sleeper.can_sleep());
    sleeper.wait_for([]);
    assert!(!sleeper.can_sleep());
    assert!(StreamBells::of(Path::new("/dev/shm/elsewhere"), STREAM, EPOCH).is_none());
}

#[test]
fn another_thread_wakes_it_and_what_comes_before_the_sleep_ends_it_at_once() {
    let namespace = Namespace::new("waker");
    let stream = namespace.stream(0);
    stream.promise(EPOCH);
    let sleeper = sleeper(&[stream]);
    let waker = sleeper.waker().unwrap();
    let ring = || {
        waker.ring();
        Look::Nothing
    };
    assert_eq!(idle_or_sleep(&mut sleepy(), &sleeper, FOREVER_NS, Look::Nothing, ring), Some(Woken::Rung));
    assert_eq!(idle_or_sleep(&mut sleepy(), &sleeper, 1_000, Look::Nothing, || Look::Nothing), Some(Woken::Late));
}

#[test]
fn seats_are_given_back_and_run_out() {
    let namespace = Namespace::new("seats");
    let stream = namespace.stream(0);
    stream.promise(EPOCH);
    for _ in 0..200 {
        assert!(sleeper(&[Arc::clone(&stream)]).can_sleep());
    }
    let seated: Vec<Sleeper> = (0..64).map(|_| sleeper(&[Arc::clone(&stream)])).collect();
    assert!(seated.iter().all(Sleeper::can_sleep));
    assert!(!sleeper(&[Arc::clone(&stream)]).can_sleep(), "the 65th looks again and again");
}

#[test]
fn a_dead_process_leaves_its_seats_to_others() {
    let namespace = Namespace::new("dead");
    let stream = namespace.stream(0);
    stream.promise(EPOCH);
    // SAFETY: the child only claims bells and seats, and leaves without running anything of its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let seated: Vec<Sleeper> = (0..64).map(|_| sleeper(&[Arc::clone(&stream)])).collect();
        let is_full = seated.iter().all(Sleeper::can_sleep);
        std::mem::forget(seated);
        // SAFETY: ends the child at once, as kill -9 would.
        unsafe { libc::_exit(i32::from(!is_full)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child did not get all seats");
    assert!(sleeper(&[Arc::clone(&stream)]).can_sleep());
}

#[test]
fn a_forked_child_gives_nothing_of_its_parent_back() {
    let namespace = Namespace::new("forked");
    let stream = namespace.stream(0);
    stream.promise(EPOCH);
    let own = sleeper(&[Arc::clone(&stream)]);
    // SAFETY: the child only drops its copy of the sleeper, and leaves without running anything of its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(own);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(own.can_sleep(), "the child gave its parent's seat away");
    let other = sleeper(&[stream]);
    assert!(other.can_sleep());
    let ring = || {
        other.waker().unwrap().ring();
        Look::Nothing
    };
    let slept = idle_or_sleep(&mut sleepy(), &own, 1_000, Look::Nothing, ring);
    assert_eq!(slept, Some(Woken::Late), "another sleeper has the parent's bell");
}

#[test]
fn nothing_is_made_in_the_namespace_of_another_driver() {
    let namespace = Namespace::new("foreign");
    fs::remove_file(namespace.0.join("driver.lock")).unwrap();
    assert!(StreamBells::of(&namespace.0.join(format!("{STREAM}/{EPOCH}")), STREAM, EPOCH).is_none());
    assert_eq!(fs::read_dir(&namespace.0).unwrap().count(), 2);
}

#[test]
fn a_file_of_something_else_is_refused() {
    let namespace = Namespace::new("refused");
    let folder = namespace.0.join(format!("{STREAM}/{EPOCH}"));
    fs::write(namespace.0.join(format!("{STREAM}/sleepers")), vec![1_u8; 4096]).unwrap();
    assert!(StreamBells::of(&folder, STREAM, EPOCH).unwrap().is_err());
}
