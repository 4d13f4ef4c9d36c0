// SPDX-License-Identifier: Apache-2.0
//! `framegate-media-driver`: Aeron's C media driver as one program.
//!
//! It serves one directory until it is told to stop: by SIGTERM or SIGINT, or, with `--parent-pid`, by the end of
//! that process or of its own standard input, whichever comes first. So the driver ends when its parent does,
//! however that happened: the kernel says so through a pidfd, and where it has none, the pipe that only the parent
//! holds does. (A parent-death signal would not do: it comes when the *thread* ends that started the driver; and the
//! pipe alone would not: a forked child of the parent holds its other end too.) On standard output it prints one line, `ready`, when
//! clients may connect; on standard error it says why it could not start.
//!
//! Aeron's own environment settings (`AERON_...`) apply; the options below come after them.

mod directory;

use std::ffi::CString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusteron_media_driver::bindings::aeron_threading_mode_t;
use rusteron_media_driver::{AeronCError, AeronDriver, AeronDriverContext};

const USAGE: &str = "framegate-media-driver --aeron-dir DIR [--threading shared|shared_network|dedicated] \
[--idle busy|yield|backoff|sleep] [--term-buffer-bytes N] [--client-liveness-timeout-ms N] \
[--driver-timeout-ms N] [--delete-on-start] [--parent-pid PID] | --aeron-dir DIR --clear
A directory that holds anything else than a media driver's files is left as it is, and the exit code is 3.";
/// The exit code where the directory holds somebody else's files.
const FOREIGN: u8 = 3;

#[derive(Default)]
struct Options {
    aeron_dir: String,
    threading: Option<String>,
    idle: Option<String>,
    term_buffer_bytes: Option<usize>,
    client_liveness_timeout_ms: Option<u64>,
    driver_timeout_ms: Option<u64>,
    delete_on_start: bool,
    /// Only remove what a dead driver left.
    is_clearing: bool,
    parent_pid: Option<libc::pid_t>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--aeron-dir" => options.aeron_dir = value()?,
                "--threading" => options.threading = Some(value()?),
                "--idle" => options.idle = Some(value()?),
                "--term-buffer-bytes" => options.term_buffer_bytes = Some(number(&word, &value()?)?),
                "--client-liveness-timeout-ms" => {
                    options.client_liveness_timeout_ms = Some(number(&word, &value()?)?);
                }
                "--driver-timeout-ms" => options.driver_timeout_ms = Some(number(&word, &value()?)?),
                "--delete-on-start" => options.delete_on_start = true,
                "--clear" => options.is_clearing = true,
                "--parent-pid" => options.parent_pid = Some(number(&word, &value()?)?),
                _ => return Err(format!("unknown option {word}\nusage: {USAGE}")),
            }
        }
        if options.aeron_dir.is_empty() {
            return Err(format!("--aeron-dir is missing\nusage: {USAGE}"));
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} takes a whole number, not {text:?}"))
}

fn threading_mode(name: &str) -> Result<aeron_threading_mode_t, String> {
    match name {
        "shared" => Ok(aeron_threading_mode_t::AERON_THREADING_MODE_SHARED),
        "shared_network" => Ok(aeron_threading_mode_t::AERON_THREADING_MODE_SHARED_NETWORK),
        "dedicated" => Ok(aeron_threading_mode_t::AERON_THREADING_MODE_DEDICATED),
        _ => Err(format!("--threading is shared, shared_network or dedicated, not {name:?}")),
    }
}

/// Aeron's names for our four strategies.
fn idle_strategy(name: &str) -> Result<CString, String> {
    let aeron_name = match name {
        "busy" => "spin",
        "yield" => "yield",
        "backoff" => "backoff",
        "sleep" => "sleep-ns",
        _ => return Err(format!("--idle is busy, yield, backoff or sleep, not {name:?}")),
    };
    c_string(aeron_name)
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("{text:?} contains a NUL character"))
}

fn said(error: AeronCError) -> String {
    let error = error.capture_errmsg();
    error.message().map_or_else(|| format!("Aeron error {}", error.code), str::to_owned)
}

fn configure(options: &Options) -> Result<AeronDriverContext, String> {
    let context = AeronDriverContext::new().map_err(said)?;
    context.set_dir(&c_string(&options.aeron_dir)?).map_err(said)?;
    // Aeron would remove the whole tree. This program removes its own files itself.
    context.set_dir_delete_on_shutdown(false).map_err(said)?;
    context.set_dir_delete_on_start(options.delete_on_start).map_err(said)?;
    context.set_dir_warn_if_exists(false).map_err(said)?;
    // A full file system is then an error at the add, not a SIGBUS at the first write.
    context.set_term_buffer_sparse_file(false).map_err(said)?;
    context.set_perform_storage_checks(true).map_err(said)?;
    release_from_slow_subscribers(&context)?;
    let threading = options.threading.as_deref().unwrap_or("shared");
    context.set_threading_mode(threading_mode(threading)?).map_err(said)?;
    set_idle(&context, &idle_strategy(options.idle.as_deref().unwrap_or("backoff"))?)?;
    if let Some(bytes) = options.term_buffer_bytes {
        context.set_term_buffer_length(bytes).map_err(said)?;
        context.set_ipc_term_buffer_length(bytes).map_err(said)?;
    }
    if let Some(timeout_ms) = options.client_liveness_timeout_ms {
        let liveness_ns = timeout_ms * 1_000_000;
        context.set_client_liveness_timeout_ns(liveness_ns).map_err(said)?;
        // Aeron refuses a driver that would take a publication from a client before it gave the client up; the
        // proportion is the one of its own defaults, 15 s over 10 s.
        let unblock_ns = context.get_publication_unblock_timeout_ns().max(liveness_ns / 2 * 3);
        context.set_publication_unblock_timeout_ns(unblock_ns).map_err(said)?;
    }
    if let Some(timeout_ms) = options.driver_timeout_ms {
        context.set_driver_timeout_ms(timeout_ms).map_err(said)?;
    }
    Ok(context)
}

/// How often the driver looks at its timers. Aeron's default of a second is also the least time-out.
const TIMER_INTERVAL_NS: u64 = 50_000_000;
/// An untethered subscriber that is three quarters of a window behind the fastest one for so long is left behind.
/// It would lose frames anyway: a ring is far shorter than a window.
const WINDOW_LIMIT_TIMEOUT_NS: u64 = 100_000_000;
/// How long what it has not read stays readable for it, and how long it then waits to join again.
const LINGER_TIMEOUT_NS: u64 = 200_000_000;
const RESTING_TIMEOUT_NS: u64 = 1_000_000_000;

/// IPC flow control follows the slowest subscriber. framegate's subscriptions are untethered, so the driver lets go of
/// one that does not keep up; with these times before the others feel it at tens of thousands of frames a second.
fn release_from_slow_subscribers(context: &AeronDriverContext) -> Result<(), String> {
    context.set_timer_interval_ns(TIMER_INTERVAL_NS).map_err(said)?;
    context.set_untethered_window_limit_timeout_ns(WINDOW_LIMIT_TIMEOUT_NS).map_err(said)?;
    context.set_untethered_linger_timeout_ns(LINGER_TIMEOUT_NS).map_err(said)?;
    context.set_untethered_resting_timeout_ns(RESTING_TIMEOUT_NS).map_err(said)?;
    Ok(())
}

fn set_idle(context: &AeronDriverContext, strategy: &CString) -> Result<(), String> {
    context.set_conductor_idle_strategy(strategy).map_err(said)?;
    context.set_sender_idle_strategy(strategy).map_err(said)?;
    context.set_receiver_idle_strategy(strategy).map_err(said)?;
    context.set_shared_idle_strategy(strategy).map_err(said)?;
    context.set_sharednetwork_idle_strategy(strategy).map_err(said)?;
    Ok(())
}

/// Becomes true when the program is to end.
fn stop_flag(parent_pid: Option<libc::pid_t>) -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stop);
    ctrlc::set_handler(move || on_signal.store(true, Ordering::Release)).map_err(|error| error.to_string())?;
    if let Some(pid) = parent_pid {
        let on_end = Arc::clone(&stop);
        std::thread::spawn(move || {
            await_parents_end(pid);
            on_end.store(true, Ordering::Release);
        });
    }
    Ok(stop)
}

/// Returns when the parent is gone, or has closed the pipe.
fn await_parents_end(pid: libc::pid_t) {
    // SAFETY: two numbers; the answer is a new descriptor or an error.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as libc::c_int;
    // Asked after the pidfd was opened: had the parent died before, another process might have its number by now.
    // SAFETY: reads this process's parent id.
    if unsafe { libc::getppid() } != pid {
        return;
    }
    let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // poll() skips a negative descriptor: without a pidfd the pipe is watched alone.
    let mut ends = [watched(process), watched(libc::STDIN_FILENO)];
    loop {
        // SAFETY: an array of two pollfds that outlives the call.
        let ready = unsafe { libc::poll(ends.as_mut_ptr(), 2, -1) };
        if ready > 0 && (ends[0].revents != 0 || !discard_input()) {
            return;
        }
    }
}

/// Reads what a parent that should not write has written; false at the end of the pipe.
fn discard_input() -> bool {
    std::io::stdin().read(&mut [0_u8; 64]).is_ok_and(|count| count > 0)
}

/// Why the program ends without having served.
enum Refusal {
    /// The directory holds a name that no media driver makes.
    Foreign(String),
    Failed(String),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// Nothing is removed from a directory that holds somebody else's files.
fn look_for_foreign_names(aeron_dir: &Path) -> Result<(), Refusal> {
    match directory::first_foreign(aeron_dir) {
        Ok(None) => Ok(()),
        Ok(Some(path)) => Err(Refusal::Foreign(path.display().to_string())),
        Err(error) => Err(Refusal::Failed(format!("{}: {error}", aeron_dir.display()))),
    }
}

fn cleared(aeron_dir: &Path) -> Result<(), Refusal> {
    directory::clear(aeron_dir).map_err(|error| Refusal::Failed(format!("{}: {error}", aeron_dir.display())))
}

fn serve(options: &Options) -> Result<(), Refusal> {
    let aeron_dir = Path::new(&options.aeron_dir);
    look_for_foreign_names(aeron_dir)?;
    if options.is_clearing {
        return cleared(aeron_dir);
    }
    let context = configure(options)?;
    let stop = stop_flag(options.parent_pid)?;
    if options.delete_on_start {
        // Before Aeron does it: a name that comes after the look above is not removed with the rest.
        cleared(aeron_dir)?;
    }
    let driver = AeronDriver::new(&context).map_err(said)?;
    let served = duty_cycle(&driver, options, &stop);
    drop(driver);
    served.and(cleared(aeron_dir))
}

fn duty_cycle(driver: &AeronDriver, options: &Options, stop: &AtomicBool) -> Result<(), Refusal> {
    driver.start(true).map_err(said)?;
    // Whoever started this program may have closed the pipe already; that is its own affair.
    let _ = writeln!(std::io::stdout(), "ready pid={} aeron_dir={}", std::process::id(), options.aeron_dir);
    while !stop.load(Ordering::Acquire) {
        let work = driver.main_do_work().map_err(said)?;
        driver.main_idle_strategy(work);
    }
    Ok(())
}

fn main() -> ExitCode {
    let options = Options::parse(std::env::args().skip(1)).map_err(Refusal::Failed);
    match options.and_then(|options| serve(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refusal::Foreign(path)) => {
            eprintln!("framegate-media-driver: {path} is no media driver's");
            ExitCode::from(FOREIGN)
        }
        Err(Refusal::Failed(message)) => {
            eprintln!("framegate-media-driver: {message}");
            ExitCode::FAILURE
        }
    }
}
