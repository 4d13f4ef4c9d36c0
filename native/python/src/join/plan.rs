// SPDX-License-Identifier: Apache-2.0
//! What `joinbarrier/agent/plan.py` says, as the stage, the engine and the journal take it.

use std::path::PathBuf;

use framegate_engine::InputPlan;
use framegate_join::map::{RawRule, Source};
use framegate_join::stage::{Drive, InputConfig, PolicyKind, Preference, StageConfig};
use framegate_journal::{Config, Durability, WhenFull};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::intake::Mailbox;

/// (stream, rule type, source, offset, window), nulls as None.
pub(super) type Rule = (u32, u32, u32, Option<i64>, Option<u64>);

pub(super) fn rule_of(&(stream, rule_type, source, offset, window): &Rule) -> RawRule {
    RawRule { stream, rule_type, source, offset, window }
}

fn number(plan: &Bound<'_, PyDict>, key: &str) -> PyResult<u64> {
    plan.as_any().get_item(key)?.extract()
}

pub(super) fn stage_of(plan: &Bound<'_, PyDict>) -> PyResult<StageConfig> {
    let py = plan.py();
    let unknown = |what: &str| raise(py, "InvalidValue", &format!("no such {what}"), &[]);
    let policy: String = plan.as_any().get_item("policy")?.extract()?;
    let policy = PolicyKind::from_name(&policy).ok_or_else(|| unknown("policy"))?;
    let drive: String = plan.as_any().get_item("drive")?.extract()?;
    let drive = match drive.as_str() {
        "counter" => Drive::Counter,
        "input" => Drive::Input(plan.as_any().get_item("drive_input")?.extract()?),
        "clock" => Drive::Clock { period_ns: number(plan, "clock_period_ns")? },
        "watermark" => Drive::Watermark,
        "external" => Drive::External,
        _ => return Err(unknown("drive")),
    };
    let mut inputs = Vec::new();
    for input in plan.as_any().get_item("inputs")?.try_iter()? {
        inputs.push(input_of(input?.cast::<PyDict>()?)?);
    }
    Ok(StageConfig {
        policy,
        out_stream: plan.as_any().get_item("out_stream")?.extract()?,
        inputs,
        drive,
        first: plan.as_any().get_item("first")?.extract()?,
        is_late_stalled: plan.as_any().get_item("stall")?.extract()?,
        is_ordered_by_time: plan.as_any().get_item("order_by_timestamp")?.extract()?,
        max_skew_ns: number(plan, "max_skew_ns")?,
        max_age_ns: number(plan, "max_age_ns")?,
        out_epoch: number(plan, "out_epoch")?,
        history: plan.as_any().get_item("history")?.extract()?,
    })
}

fn input_of(input: &Bound<'_, PyDict>) -> PyResult<InputConfig> {
    let get = |key: &str| input.as_any().get_item(key);
    Ok(InputConfig {
        stream: get("stream")?.extract()?,
        tolerance_ns: get("tolerance_ns")?.extract()?,
        source: if get("descriptor_time")?.extract()? { Source::FrameDescriptor } else { Source::SlotHeader },
        pick: if get("nearest")?.extract()? { Preference::Nearest } else { Preference::Newest },
        reuse: get("reuse")?.extract()?,
        deadline_ns: get("deadline_ns")?.extract()?,
        optional: get("optional")?.extract()?,
        processed: get("processed")?.extract()?,
        drops_regressed: get("drops_regressed")?.extract()?,
    })
}

pub(super) fn inputs_of(mailbox: &Mailbox, stage: &StageConfig) -> Option<Vec<InputPlan>> {
    let place = |input: &InputConfig| {
        let stream = mailbox.place(input.stream)?;
        Some(InputPlan { stream, stream_id: input.stream })
    };
    stage.inputs.iter().map(place).collect()
}

pub(super) fn journal_of(plan: &Bound<'_, PyDict>) -> PyResult<Config> {
    let get = |key: &str| plan.as_any().get_item(key);
    let durability: String = get("durability")?.extract()?;
    Ok(Config {
        dir: get("dir")?.extract::<PathBuf>()?,
        out_stream: get("out_stream")?.extract()?,
        journal_epoch: get("journal_epoch")?.extract()?,
        inputs: get("inputs")?.extract()?,
        seal_rows: get("seal_rows")?.extract()?,
        seal_bytes: get("seal_bytes")?.extract()?,
        seal_ns: get("seal_ns")?.extract()?,
        segment_bytes: get("segment_bytes")?.extract()?,
        segment_ns: get("segment_ns")?.extract()?,
        max_bytes: get("max_bytes")?.extract()?,
        when_full: if get("block")?.extract()? { WhenFull::Block } else { WhenFull::DropOldest },
        durability: match durability.as_str() {
            "fsync" => Durability::Fsync,
            "checkpoint" => Durability::Checkpoint,
            "disk" => Durability::Disk,
            _ => Durability::Memory,
        },
        prefault_all: get("prefault_all")?.extract()?,
        state_capacity: 0,
        realtime_offset_ns: get("realtime_offset_ns")?.extract()?,
    })
}
