// SPDX-License-Identifier: Apache-2.0
//! A disk without room ends a recording with an index over everything that fits. Alone in its program: the limit on the
//! length of files is the process's.

use framegate_recording::{Compression, Config, Descriptor, LossCause, Part, Recorder, RecordingError};

const LIMIT: u64 = 1 << 20;
const FRAMES: u64 = 200_000;

#[test]
fn what_fits_is_indexed_and_what_does_not_is_accounted_for() {
    let folder = std::env::temp_dir().join(format!("framegate-no-room-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("out.mcap");
    let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: both calls change how this process, which is the test's own, is treated, and no memory.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
    let config = Config {
        path: path.clone(),
        streams: vec![5],
        has_payload: false,
        compression: Compression::None,
        chunk_bytes: 128 * 1024,
        queue_bytes: 64 << 20,
        chunk_ns: 1_000_000_000,
        library: "test".to_owned(),
        notes: Vec::new(),
    };
    let mut recorder = Recorder::create(&config).unwrap();
    let mut message = [0; 48];
    message[..8].copy_from_slice(&(40_u64 | 4 << 16 | 900 << 32 | 1 << 48).to_le_bytes());
    for seq in 0..FRAMES {
        recorder.frame(&Descriptor { stream: 0, epoch: 1, seq }, &message, Ok(None), seq, 0);
    }
    let ended = recorder.finish().unwrap();
    assert!(matches!(ended.failure, Some(RecordingError::NoRoom)));
    assert!(ended.is_indexed);
    let account = &ended.accounts[0];
    let lost = account.lost_to(Part::Frame, LossCause::NoRoom) + account.lost_to(Part::Frame, LossCause::QueueFull);
    assert!(account.frames() > 0 && lost > 0);
    assert_eq!(account.frames() + lost, FRAMES);
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() as u64 <= LIMIT);
    let statistics = mcap::Summary::read(&bytes).unwrap().unwrap().stats.unwrap();
    assert_eq!(statistics.message_count, account.frames());
    assert_eq!(mcap::MessageStream::new(&bytes).unwrap().filter(Result::is_ok).count() as u64, account.frames());
    let _ = std::fs::remove_dir_all(&folder);
}
