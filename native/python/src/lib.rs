// SPDX-License-Identifier: Apache-2.0
//! The extension module `framegate._native`: the core and the Aeron client for Python. `_native.pyi` describes it.

use pyo3::prelude::*;

mod aeron;
mod bench;
mod buffer;
mod checkpoint;
mod errors;
mod intake;
mod join;
mod journal;
mod plan;
mod pool;
mod recording;
mod toml;

/// Native parts of framegate. Use the packages around this module, not the module itself.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::aeron::{AeronClaim, AeronClient, AeronPublication, AeronSubscription, driver_mark};
    #[pymodule_export]
    use crate::bench::{
        bench_ages, bench_bare_offer, bench_copy, bench_echo, bench_offer, bench_paced, bench_ping, bench_poll,
        bench_publish, bench_read,
    };
    #[pymodule_export]
    use crate::checkpoint::{
        BarrierAligner, BarrierInjector, CheckpointChannel, CommandWord, IngressGate, InputSignals, SignalCounter,
        UnalignedCheckpointer, checkpoint_read_records, checkpoint_write_records,
    };
    #[pymodule_export]
    use crate::intake::{JoinMailbox, JoinPort};
    #[pymodule_export]
    use crate::join::{
        JoinBarrier, JoinEngine, JoinSnapshot, JoinStage, NearestPairing, OutputWatermarks, StoredRecords, join_causes,
        join_check_records,
    };
    #[pymodule_export]
    use crate::journal::{JournalWriter, crc32c, journal_cells, journal_columns, journal_fault_points};
    #[pymodule_export]
    use crate::pool::{Frame, FrameBatch, FrameClaim, PoolConsumer, PoolProducer, PoolRegions, region_mark};
    #[pymodule_export]
    use crate::recording::{RecordEngine, recording_recover, recording_topic};
    #[pymodule_export]
    use crate::toml::parse_toml;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::pool::FrameBatch::register(module.py())
    }
}
