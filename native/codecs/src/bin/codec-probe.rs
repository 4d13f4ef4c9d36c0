// SPDX-License-Identifier: Apache-2.0
//! Answers questions about the codecs, so that a test in another language can compare: u32 length and request on standard
//! input, u32 length and JSON on standard output, little-endian, until the input ends.
//!
//! | request | answer |
//! |---|---|
//! | `d` and a message | `{"message": name, "values": {...}}` |
//! | `b`, schema u16, template u16 and a body | the same |
//! | `e` and such an object | `{"hex": header and body}` |
//! | `c` and such an object | `{"hex": the body alone}` |
//!
//! Every refusal is `{"code": n, "error": text}`; code 0 means that the request itself was wrong.

use std::io::{self, BufReader, BufWriter, Read, Write};

use framegate_codecs::{DecodeError, EncodeError, Message};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut requests = BufReader::new(io::stdin().lock());
    let mut answers = BufWriter::new(io::stdout().lock());
    while let Some(request) = read_request(&mut requests)? {
        let answer = answer(&request).to_string();
        answers.write_all(&(answer.len() as u32).to_le_bytes())?;
        answers.write_all(answer.as_bytes())?;
        answers.flush()?;
    }
    Ok(())
}

fn read_request(requests: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match requests.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        done => done?,
    }
    let mut request = vec![0; u32::from_le_bytes(length) as usize];
    requests.read_exact(&mut request)?;
    Ok(Some(request))
}

fn answer(request: &[u8]) -> Value {
    match request {
        [b'd', message @ ..] => decoded(Message::decode(message)),
        [b'b', s0, s1, t0, t1, body @ ..] => {
            let (schema, template) = (u16::from_le_bytes([*s0, *s1]), u16::from_le_bytes([*t0, *t1]));
            decoded(Message::decode_body(schema, template, body))
        }
        [b'e', object @ ..] => encoded(object, Message::encode),
        [b'c', object @ ..] => encoded(object, body),
        _ => json!({"code": 0, "error": "no such request"}),
    }
}

fn decoded(result: Result<Message, DecodeError>) -> Value {
    match result {
        Ok(message) => json!(message),
        Err(error) => json!({"code": error.code(), "error": error.to_string()}),
    }
}

fn encoded(object: &[u8], encode: fn(&Message) -> Result<Vec<u8>, EncodeError>) -> Value {
    let message: Message = match serde_json::from_slice(object) {
        Ok(message) => message,
        Err(error) => return json!({"code": 0, "error": error.to_string()}),
    };
    match encode(&message) {
        Ok(bytes) => json!({"hex": hex(&bytes)}),
        Err(error) => json!({"code": error.code(), "error": error.to_string()}),
    }
}

fn body(message: &Message) -> Result<Vec<u8>, EncodeError> {
    // The body is what follows the header, so one buffer of the whole length is enough.
    let mut buffer = message.encode()?;
    let length = message.encode_body_into(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
