// SPDX-License-Identifier: Apache-2.0
//! Chunks between two threads: one fills them, the other writes them. There are so many chunks and no more.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use crate::chunk::Chunk;
use crate::config::RecordingError;
use crate::file::FileWriter;
use crate::loss::LossCause;

/// What the writing thread leaves when it ends.
pub(crate) struct Written {
    pub(crate) file: FileWriter,
    /// Why nothing was written any more.
    pub(crate) failure: Option<RecordingError>,
}

/// The filling thread's end.
pub(crate) struct Queue {
    work: Option<SyncSender<Chunk>>,
    back: Receiver<Chunk>,
    thread: Option<JoinHandle<Written>>,
    /// How many chunks are with the writer.
    pub(crate) away: usize,
}

impl Queue {
    /// Starts the thread; every chunk is here.
    pub(crate) fn start(file: FileWriter, chunks: usize) -> Result<Self, RecordingError> {
        let (work, todo) = sync_channel::<Chunk>(chunks);
        let (done, back) = sync_channel::<Chunk>(chunks);
        let write = move || {
            let mut written = Written { file, failure: None };
            for mut chunk in todo {
                written.take(&mut chunk);
                if done.send(chunk).is_err() {
                    break;
                }
            }
            written
        };
        let thread = thread::Builder::new().name("framegate-record".to_owned()).spawn(write)?;
        Ok(Self { work: Some(work), back, thread: Some(thread), away: 0 })
    }

    /// Hands a chunk over. There is room for every chunk there is, so this does not wait.
    pub(crate) fn submit(&mut self, chunk: Chunk) {
        if let Some(work) = &self.work
            && work.send(chunk).is_ok()
        {
            self.away += 1;
        }
    }

    /// A chunk that came back, if one has.
    pub(crate) fn returned(&mut self) -> Option<Chunk> {
        match self.back.try_recv() {
            Ok(chunk) => {
                self.away -= 1;
                Some(chunk)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    /// A chunk that came back, waited for while any is away.
    pub(crate) fn wait(&mut self) -> Option<Chunk> {
        if self.away == 0 {
            return None;
        }
        let chunk = self.back.recv().ok()?;
        self.away -= 1;
        Some(chunk)
    }

    /// Lets the thread write what it has, and ends it; each chunk that comes back goes to `settle`.
    pub(crate) fn end(&mut self, mut settle: impl FnMut(Chunk)) -> Result<Written, RecordingError> {
        self.work = None;
        while let Ok(chunk) = self.back.recv() {
            self.away -= 1;
            settle(chunk);
        }
        let joined = self.thread.take().map(JoinHandle::join);
        match joined {
            Some(Ok(written)) => Ok(written),
            _ => Err(RecordingError::Damaged("the writing thread failed".to_owned())),
        }
    }
}

impl Written {
    /// After a failure nothing is written any more: a chunk behind a hole would say that it follows.
    fn take(&mut self, chunk: &mut Chunk) {
        if self.failure.is_none()
            && let Err(failure) = self.file.chunk(chunk)
        {
            self.failure = Some(failure);
        }
        chunk.failure = self.failure.as_ref().map(|failure| match failure {
            RecordingError::NoRoom => LossCause::NoRoom,
            _ => LossCause::WriteFailed,
        });
    }
}
