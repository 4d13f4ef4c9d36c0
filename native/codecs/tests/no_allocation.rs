// SPDX-License-Identifier: Apache-2.0
//! Checking, walking and writing a message takes nothing from the heap. An allocator that counts is the witness.

use framegate_codecs::merge::{MergeRuleType, SequenceMergeMapAnnounce, SequenceMergeMapAnnounceRule};
use framegate_codecs::wire::{DataSourceMeta, DataSourceMetaAttribute, FrameDescriptor};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

fn map() -> SequenceMergeMapAnnounce {
    let rule = SequenceMergeMapAnnounceRule {
        input_stream_id: 10000,
        rule_type: MergeRuleType::Offset,
        offset: Some(-2),
        window_size: None,
    };
    SequenceMergeMapAnnounce { out_stream_id: 11000, epoch: 9, stale_timeout_ns: None, rules: vec![rule.clone(), rule] }
}

fn meta() -> DataSourceMeta {
    let attribute = DataSourceMetaAttribute { key: "exposure".into(), format: "i32".into(), value: vec![1, 2, 3, 4] };
    DataSourceMeta {
        stream_id: 10000,
        meta_version: 3,
        timestamp_ns: 5,
        attributes: vec![attribute.clone(), attribute],
    }
}

#[test]
fn the_witness_sees_an_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 64]))), 1);
}

#[test]
fn merge_map_is_written_checked_and_walked_without_allocating() {
    let map = map();
    let mut buffer = [0; 58];
    assert_eq!(allocations(|| assert_eq!(map.encode_into(&mut buffer), Ok(58))), 0);
    let work = || {
        let mut rules = SequenceMergeMapAnnounce::checked(&buffer).unwrap().rules_decoder();
        while let Ok(Some(_)) = rules.advance() {
            assert_eq!(rules.offset(), Some(-2));
        }
    };
    assert_eq!(allocations(work), 0);
}

#[test]
fn refusing_a_message_does_not_allocate_either() {
    let bytes = meta().encode().unwrap();
    let work = || {
        assert!(DataSourceMeta::checked(&bytes).is_ok());
        for length in 0..bytes.len() {
            assert!(DataSourceMeta::checked(&bytes[..length]).is_err());
        }
        assert!(FrameDescriptor::checked(&bytes).is_err());
    };
    assert_eq!(allocations(work), 0);
}

#[test]
fn buffer_too_small_is_left_as_it_was() {
    let mut buffer = [0xaa; 57];
    assert_eq!(map().encode_into(&mut buffer).unwrap_err().code(), 108);
    assert_eq!(buffer, [0xaa; 57]);
}
