// SPDX-License-Identifier: Apache-2.0
//! Counters that know their names, so that no program that shows them needs a list of its own.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Defines a struct of counters, whose fields are the names. `docs/counters.md` explains each counter too.
///
/// ```
/// framegate_counters::counters! {
///     /// What a door counts.
///     pub struct DoorCounters {
///         /// Times that it was opened.
///         opened,
///         /// Times that it stayed shut.
///         refused,
///     }
/// }
///
/// let mut counters = DoorCounters::default();
/// counters.opened += 2;
/// assert_eq!(counters.named().collect::<Vec<_>>(), [("opened", 2), ("refused", 0)]);
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$counts:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$counts])* pub $field: u64,)*
        }

        impl $name {
            /// The names of the counters, in the order of their definition.
            pub const NAMES: [&'static str; [$(stringify!($field)),*].len()] = [$(stringify!($field)),*];

            /// The values of the counters, in the order of the names.
            #[must_use]
            pub const fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$field),*]
            }

            /// Each counter as a name and a value.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                Self::NAMES.into_iter().zip(self.values())
            }
        }
    };
}
