// SPDX-License-Identifier: Apache-2.0
//! The program `framegate`: keeps Ctrl-C back, and becomes the Python program beside it.
//!
//! A Ctrl-C that meets Python while it starts ends it with a traceback of its own inside. The mask of a process outlives
//! `exec`, so the signal waits here and there until `framegate/__main__.py` lets it through to its handler.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, fs, io, mem, ptr};

/// The script that pip makes, with the interpreter in its first line.
const PYTHON_PROGRAM: &str = "framegate-python";
const ENVIRONMENT: u8 = 3;

fn main() -> ExitCode {
    let program = match fs::read_link("/proc/self/exe") {
        Ok(own) => own.with_file_name(PYTHON_PROGRAM),
        Err(_) => PYTHON_PROGRAM.into(),
    };
    let mut python = Command::new(&program);
    python.args(env::args_os().skip(1));
    // SAFETY: it runs in this very process, which has no other thread. Before `exec` the library clears the mask, so
    // this is the place; a Ctrl-C until here ends the launcher in silence, as it does any program.
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
