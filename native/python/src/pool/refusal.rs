// SPDX-License-Identifier: Apache-2.0
//! The errors that a producer raises if it cannot publish.

use framegate_core::pool::writer::WriteFault;
use pyo3::prelude::*;

use super::array_view::ArrayView;
use super::frame::DTYPE_NAMES;
use super::producer::PoolProducer;
use super::publishing::{PublishFault, Published};
use crate::errors::raise;

impl PoolProducer {
    /// The error for an array that does not match the dtype or shape of the producer.
    pub(super) fn mismatch(&self, py: Python<'_>, what: &str, view: &ArrayView) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let want_dtype = self.dtype.map_or("any", |number| DTYPE_NAMES[number as usize]);
            let want_shape = self.shape.as_ref().map_or_else(|| "any".to_owned(), |shape| format!("{shape:?}"));
            let facts = [
                ("stream", self.stream(py)?),
                ("want_dtype", want_dtype.into_pyobject(py)?.into_any()),
                ("have_format", view.format().into_pyobject(py)?.into_any()),
                ("want_shape", want_shape.into_pyobject(py)?.into_any()),
                ("have_shape", format!("{:?}", view.shape()).into_pyobject(py)?.into_any()),
            ];
            Ok(raise(py, "WrongArray", &format!("its {what} is not the producer's"), &facts))
        };
        described().unwrap_or_else(|failure| failure)
    }

    /// The sequence that was published; an error if the client is dead.
    pub(super) fn answer(
        &self,
        py: Python<'_>,
        published: Result<Published, PublishFault>,
        bytes: u32,
    ) -> PyResult<Published> {
        match published {
            Ok(published) => {
                if published.answer <= -4 {
                    self.shared.publication.check_alive(py)?;
                }
                Ok(published)
            }
            Err(fault) => Err(self.fault(py, &fault, bytes)),
        }
    }

    pub(crate) fn fault(&self, py: Python<'_>, fault: &PublishFault, bytes: u32) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let stream = ("stream", self.stream(py)?);
            Ok(match fault {
                PublishFault::NotAttached => raise(py, "NotAttached", "the producer holds no lease now", &[stream]),
                PublishFault::NotCopied => PyErr::take(py)
                    .unwrap_or_else(|| raise(py, "WrongArray", "the array could not be copied", &[stream])),
                PublishFault::Write(WriteFault::TooLarge { limit_bytes }) => {
                    let facts = [
                        stream,
                        ("frame_bytes", bytes.into_pyobject(py)?.into_any()),
                        ("limit_bytes", limit_bytes.into_pyobject(py)?.into_any()),
                    ];
                    raise(py, "FrameTooLarge", "no pool of the stream has slots that large", &facts)
                }
                PublishFault::Write(WriteFault::ClaimOpen | WriteFault::NotOpen) => {
                    raise(py, "RegionBusy", "a claimed frame is not finished yet", &[stream])
                }
                PublishFault::Write(WriteFault::SequenceEnd) => {
                    raise(py, "InvalidValue", "sequences only grow, up to 9223372036854775807", &[stream])
                }
                PublishFault::Write(WriteFault::Tensor(fault)) => {
                    let what = format!("the array cannot be described: {fault:?}");
                    raise(py, "WrongArray", &what, &[stream])
                }
            })
        };
        described().unwrap_or_else(|failure| failure)
    }
}
