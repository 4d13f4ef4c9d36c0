// SPDX-License-Identifier: Apache-2.0
//! A MergeMap whose rules were checked (PROTOCOL 11.2). `joinbarrier/maps/rules.py` makes the same checks, in the same
//! order.

use serde::Deserialize;

/// The field that a rule reads timestamps from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Source {
    /// The time at which the descriptor was published.
    FrameDescriptor = 1,
    /// The time at which the frame was captured.
    SlotHeader = 2,
}

/// The clock that a map's times count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ClockDomain {
    /// This host's monotonic clock.
    Monotonic = 1,
    /// A realtime clock that hosts share.
    RealtimeSynced = 2,
}

/// What a rule asks of its input, in sequences or nanoseconds, by the kind of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The input must reach the output plus this offset.
    Offset(i64),
    /// The input must reach the output itself; no output lies before the first full window.
    Window(u64),
}

/// One rule of a map. A sequence map ignores `source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The input stream.
    pub stream: u32,
    /// Offset or window.
    pub need: Need,
    /// The field that timestamps are read from.
    pub source: Source,
}

/// What only a timestamp map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The clock of all times of the map.
    pub clock_domain: ClockDomain,
    /// How much later frames may come. It is subtracted in the readiness inequality, and nowhere else.
    pub lateness_ns: u64,
}

/// The rules of one output stream in one epoch. An equal map is a repeated announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeMap {
    /// The output stream.
    pub out_stream: u32,
    /// The output's epoch.
    pub epoch: u64,
    /// How long an input may be silent before it counts as absent; None: for ever.
    pub stale_timeout_ns: Option<u64>,
    /// What a timestamp map has in addition; None for a sequence map.
    pub times: Option<Times>,
    /// One rule or more.
    pub rules: Vec<Rule>,
}

/// A rule as it was announced, with its plain numbers and nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRule {
    /// The input stream.
    pub stream: u32,
    /// 0 is an offset, 1 a window.
    pub rule_type: u32,
    /// 1 is the frame descriptor, 2 the slot header. A sequence map ignores it.
    pub source: u32,
    /// The offset; None if it is null.
    pub offset: Option<i64>,
    /// The window; None if it is null.
    pub window: Option<u64>,
}

/// A map as it was announced.
#[derive(Clone, Copy, Debug)]
pub struct Announced<'a> {
    /// The output stream.
    pub out_stream: u32,
    /// The output's epoch.
    pub epoch: u64,
    /// The stale timeout; None if it is null.
    pub stale_timeout_ns: Option<u64>,
    /// Clock domain and lateness of a timestamp map; None for a sequence map.
    pub times: Option<(u32, Option<u64>)>,
    /// The announced rules, any number of them.
    pub rules: &'a [RawRule],
}

/// Why a map is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// The map has no rules.
    NoRules,
    /// A rule is neither an offset nor a window.
    UnknownRuleType,
    /// A source is neither the descriptor nor the slot header.
    UnknownTimestampSource,
    /// The clock is neither monotonic nor realtime.
    UnknownClockDomain,
    /// The parameter that the rule's type needs is null.
    ParameterMissing,
    /// The parameter of the other rule type is not null.
    ParameterExtra,
    /// A window is 0.
    WindowZero,
    /// A number does not fit its field, or equals its null value.
    OutOfRange,
    /// The map names more than [`crate::input_set::INPUTS_MAX`] inputs.
    TooManyInputs,
    /// The rules of one input read two sources, where frames are ordered by timestamp.
    TwoSources,
    /// A rule names a stream that is no input of the stage.
    UnknownStream,
    /// The input that makes the stage's outputs has no rule.
    DriveWithoutRule,
}

impl RefusalCause {
    /// The word for this cause in the facts of an error.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoRules => "no_rules",
            Self::UnknownRuleType => "unknown_rule_type",
            Self::UnknownTimestampSource => "unknown_timestamp_source",
            Self::UnknownClockDomain => "unknown_clock_domain",
            Self::ParameterMissing => "parameter_missing",
            Self::ParameterExtra => "parameter_extra",
            Self::WindowZero => "window_zero",
            Self::OutOfRange => "out_of_range",
            Self::TooManyInputs => "too_many_inputs",
            Self::TwoSources => "two_sources",
            Self::UnknownStream => "unknown_stream",
            Self::DriveWithoutRule => "drive_without_rule",
        }
    }
}

/// Why a map is refused, and by which rule of which stream, if one is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub cause: RefusalCause,
    /// Index and stream of the rule at fault.
    pub rule: Option<(usize, u32)>,
}

impl From<RefusalCause> for Refusal {
    fn from(cause: RefusalCause) -> Self {
        Self { cause, rule: None }
    }
}

impl MergeMap {
    /// Checks an announced map. One bad rule refuses all of it.
    ///
    /// # Errors
    /// The first thing that is wrong with the map.
    pub fn checked(announced: &Announced<'_>) -> Result<Self, Refusal> {
        let lateness_ns = announced.times.and_then(|(_, lateness_ns)| lateness_ns);
        if announced.stale_timeout_ns == Some(u64::MAX) || lateness_ns == Some(u64::MAX) {
            return Err(RefusalCause::OutOfRange.into());
        }
        if announced.rules.is_empty() {
            return Err(RefusalCause::NoRules.into());
        }
        let times = match announced.times {
            None => None,
            Some((1, _)) => Some(ClockDomain::Monotonic),
            Some((2, _)) => Some(ClockDomain::RealtimeSynced),
            Some(_) => return Err(RefusalCause::UnknownClockDomain.into()),
        };
        let times = times.map(|clock_domain| Times { clock_domain, lateness_ns: lateness_ns.unwrap_or(0) });
        let limits =
            if times.is_some() { (i64::MAX, u64::MAX - 1) } else { (i32::MAX.into(), u64::from(u32::MAX) - 1) };
        let mut rules = Vec::with_capacity(announced.rules.len());
        for (index, raw) in announced.rules.iter().enumerate() {
            let rule = checked_rule(raw, times.is_some(), limits);
            rules.push(rule.map_err(|cause| Refusal { cause, rule: Some((index, raw.stream)) })?);
        }
        let Announced { out_stream, epoch, stale_timeout_ns, .. } = *announced;
        Ok(Self { out_stream, epoch, stale_timeout_ns, times, rules })
    }
}

fn checked_rule(raw: &RawRule, is_by_time: bool, limits: (i64, u64)) -> Result<Rule, RefusalCause> {
    if raw.rule_type > 1 {
        return Err(RefusalCause::UnknownRuleType);
    }
    let source = match raw.source {
        1 if is_by_time => Source::FrameDescriptor,
        2 => Source::SlotHeader,
        _ if !is_by_time => Source::SlotHeader,
        _ => return Err(RefusalCause::UnknownTimestampSource),
    };
    let need = if raw.rule_type == 0 {
        let offset = raw.offset.ok_or(RefusalCause::ParameterMissing)?;
        if raw.window.is_some() {
            return Err(RefusalCause::ParameterExtra);
        }
        // The most negative number stands for null.
        if !(-limits.0..=limits.0).contains(&offset) {
            return Err(RefusalCause::OutOfRange);
        }
        Need::Offset(offset)
    } else {
        let window = raw.window.ok_or(RefusalCause::ParameterMissing)?;
        if raw.offset.is_some() {
            return Err(RefusalCause::ParameterExtra);
        }
        if window == 0 {
            return Err(RefusalCause::WindowZero);
        }
        if window > limits.1 {
            return Err(RefusalCause::OutOfRange);
        }
        Need::Window(window)
    };
    Ok(Rule { stream: raw.stream, need, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: RawRule = RawRule { stream: 7, rule_type: 0, source: 2, offset: Some(-2), window: None };

    fn refusal(times: Option<(u32, Option<u64>)>, rules: &[RawRule]) -> Option<(RefusalCause, Option<usize>)> {
        let announced = Announced { out_stream: 1, epoch: 0, stale_timeout_ns: None, times, rules };
        MergeMap::checked(&announced).err().map(|refusal| (refusal.cause, refusal.rule.map(|(index, _)| index)))
    }

    #[test]
    fn every_row_of_the_table_refuses_the_whole_map() {
        let by_time = Some((1, None));
        let window = |window, offset| RawRule { rule_type: 1, offset, window, ..GOOD };
        for times in [None, by_time] {
            assert_eq!(refusal(times, &[GOOD, window(Some(5), None)]), None);
            assert_eq!(refusal(times, &[]), Some((RefusalCause::NoRules, None)));
            for (bad, cause) in [
                (RawRule { rule_type: 2, ..GOOD }, RefusalCause::UnknownRuleType),
                (RawRule { offset: None, ..GOOD }, RefusalCause::ParameterMissing),
                (RawRule { window: Some(1), ..GOOD }, RefusalCause::ParameterExtra),
                (RawRule { offset: Some(i64::MIN), ..GOOD }, RefusalCause::OutOfRange),
                (window(None, None), RefusalCause::ParameterMissing),
                (window(Some(0), None), RefusalCause::WindowZero),
                (window(Some(5), Some(1)), RefusalCause::ParameterExtra),
                (window(Some(u64::MAX), None), RefusalCause::OutOfRange),
            ] {
                assert_eq!(refusal(times, &[GOOD, bad]), Some((cause, Some(1))), "{bad:?}");
            }
        }
        let no_source = RawRule { source: 3, ..GOOD };
        assert_eq!(refusal(by_time, &[no_source]), Some((RefusalCause::UnknownTimestampSource, Some(0))));
        assert_eq!(refusal(None, &[no_source]), None);
        assert_eq!(refusal(Some((3, None)), &[GOOD]), Some((RefusalCause::UnknownClockDomain, None)));
        assert_eq!(refusal(Some((1, Some(u64::MAX))), &[GOOD]), Some((RefusalCause::OutOfRange, None)));
    }

    #[test]
    fn parameters_of_a_sequence_map_end_at_32_bits() {
        let offset = |offset| RawRule { offset: Some(offset), ..GOOD };
        let window = |window| RawRule { rule_type: 1, offset: None, window: Some(window), ..GOOD };
        for good in [offset(i32::MAX.into()), offset(-i64::from(i32::MAX)), window(u64::from(u32::MAX) - 1)] {
            assert_eq!(refusal(None, &[good]), None);
        }
        for bad in [offset(i32::MIN.into()), offset(1 << 31), window(u32::MAX.into())] {
            assert_eq!(refusal(None, &[bad]), Some((RefusalCause::OutOfRange, Some(0))));
            assert_eq!(refusal(Some((1, None)), &[bad]), None);
        }
    }
}
