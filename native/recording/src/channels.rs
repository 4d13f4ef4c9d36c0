// SPDX-License-Identifier: Apache-2.0
//! Topics: one channel for each kind of message of each stream, defined when the first one comes.

use std::collections::{BTreeMap, HashMap};

use mcap::records::Channel;

use crate::chunk::Definition;
use crate::names::{DESCRIPTOR, KNOWN, SLOT_HEADER, xml_of};
use crate::records::{put_channel, put_schema};

/// What a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A message, by its place in [`KNOWN`].
    Known(u16),
    /// A message that no schema here knows: schema and template.
    Foreign(u16, u16),
    /// Payloads.
    Payload,
    /// What was lost.
    Loss,
}

/// The topic of the ranges that are missing.
pub(crate) const LOSS_TOPIC: &str = "framegate/loss";
const LOSS_SCHEMA: &str = r#"{"title":"framegate.Loss","type":"object","properties":{"stream":{"type":"integer"},"epoch":{"type":"integer"},"first":{"type":"integer"},"last":{"type":"integer"},"count":{"type":"integer"},"part":{"type":"string"},"cause":{"type":"string"}}}"#;

/// Every channel so far. A new one leaves its definition to be written.
pub(crate) struct Channels {
    ids: HashMap<(Option<u32>, Kind), u16>,
    schemas: HashMap<String, u16>,
    next: u16,
    fresh: Vec<Definition>,
    /// Messages so far of each channel, for those that have no sequence of their own.
    pub(crate) counts: Vec<u32>,
}

impl Channels {
    pub(crate) fn new() -> Self {
        Self { ids: HashMap::new(), schemas: HashMap::new(), next: 1, fresh: Vec::new(), counts: vec![0] }
    }

    /// The channels that every recording of these streams has; so even an empty one says what it would hold.
    pub(crate) fn define_all(&mut self, streams: &[u32], has_payload: bool) {
        self.id(None, Kind::Loss);
        for stream in streams {
            self.id(Some(*stream), Kind::Known(DESCRIPTOR as u16));
            if has_payload {
                self.id(Some(*stream), Kind::Known(SLOT_HEADER as u16));
                self.id(Some(*stream), Kind::Payload);
            }
        }
    }

    /// The channel of a kind of message of a stream; None when there are as many channels as a file can have.
    pub(crate) fn id(&mut self, stream: Option<u32>, kind: Kind) -> Option<u16> {
        if let Some(id) = self.ids.get(&(stream, kind)) {
            return Some(*id);
        }
        self.define(stream, kind)
    }

    #[cold]
    fn define(&mut self, stream: Option<u32>, kind: Kind) -> Option<u16> {
        if self.next == u16::MAX {
            return None;
        }
        let id = self.next;
        self.next += 1;
        let (leaf, schema_id, encoding) = match kind {
            Kind::Known(place) => {
                let known = &KNOWN[usize::from(place)];
                let schema = self.schema(known.name, "sbe-xml", xml_of(known.schema_id()));
                (known.name.to_owned(), schema, "sbe")
            }
            Kind::Foreign(schema, template) => (format!("{schema}-{template}"), 0, "sbe"),
            Kind::Payload => ("payload".to_owned(), 0, "raw"),
            Kind::Loss => (String::new(), self.schema("framegate.Loss", "jsonschema", LOSS_SCHEMA), "json"),
        };
        let topic = match (kind, stream) {
            (Kind::Loss, _) => LOSS_TOPIC.to_owned(),
            (_, Some(stream)) => format!("stream/{stream}/{leaf}"),
            (Kind::Foreign(..), None) => format!("foreign/{leaf}"),
            (_, None) => format!("control/{leaf}"),
        };
        let metadata: BTreeMap<String, String> =
            stream.map(|stream| ("stream".to_owned(), stream.to_string())).into_iter().collect();
        let mut record = Vec::new();
        put_channel(&mut record, &Channel { id, schema_id, topic, message_encoding: encoding.to_owned(), metadata });
        self.fresh.push(Definition { is_schema: false, record });
        self.ids.insert((stream, kind), id);
        self.counts.push(0);
        Some(id)
    }

    fn schema(&mut self, name: &str, encoding: &str, text: &str) -> u16 {
        if let Some(id) = self.schemas.get(name) {
            return *id;
        }
        // There are fewer schemas than messages that are known.
        let id = self.schemas.len() as u16 + 1;
        let mut record = Vec::new();
        put_schema(&mut record, id, name, encoding, text.as_bytes());
        self.fresh.push(Definition { is_schema: true, record });
        self.schemas.insert(name.to_owned(), id);
        id
    }

    /// Definitions that stand nowhere yet.
    pub(crate) fn take_fresh(&mut self) -> Vec<Definition> {
        std::mem::take(&mut self.fresh)
    }

    /// The next sequence of a channel whose messages have none.
    pub(crate) fn count(&mut self, id: u16) -> u32 {
        let count = &mut self.counts[usize::from(id)];
        *count = count.wrapping_add(1);
        *count
    }
}
