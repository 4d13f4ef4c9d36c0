// SPDX-License-Identifier: Apache-2.0
//! The program `framegate`: it blocks Ctrl-C, then replaces itself by the Python program beside it.
//!
//! If Ctrl-C arrives while Python starts, Python ends with a traceback from its own start-up code. A process keeps its
//! signal mask across `exec`. So the signal stays blocked from here until `framegate/__main__.py` unblocks it for its
//! own handler.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, fs, io, mem, ptr};

/// The script that pip installs, with the path of the interpreter in its first line.
const PYTHON_PROGRAM: &str = "framegate-python";
const ENVIRONMENT: u8 = 3;

fn main() -> ExitCode {
    let program = match fs::read_link("/proc/self/exe") {
        Ok(own) => own.with_file_name(PYTHON_PROGRAM),
        Err(_) => PYTHON_PROGRAM.into(),
    };
    let mut python = Command::new(&program);
    python.args(env::args_os().skip(1));
    // SAFETY: the closure runs in this very process, which has no other thread. `exec` of the standard library clears
    // the mask first, so the signal must be blocked here. A Ctrl-C before this point ends the launcher silently, as it
    // ends any program.
    let failure = unsafe { python.pre_exec(keep_ctrl_c_back) }.exec();
    eprintln!("framegate: {} cannot be run: {failure}", program.display());
    ExitCode::from(ENVIRONMENT)
}

fn keep_ctrl_c_back() -> io::Result<()> {
    // SAFETY: the set is made by sigemptyset before it is used.
    let code = unsafe {
        let mut signals: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGINT);
        libc::sigprocmask(libc::SIG_BLOCK, &signals, ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
