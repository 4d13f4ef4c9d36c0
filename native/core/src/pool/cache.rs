// SPDX-License-Identifier: Apache-2.0
//! How much memory the cores keep near: what decides whether a ring stays in it.

use std::path::Path;
use std::sync::OnceLock;

/// Where the system tells nothing: small enough that a ring is not taken for cached that is not.
const UNKNOWN_BYTES: u64 = 4 << 20;
const CPU_CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// The largest cache of the first core; asked for once.
pub fn last_level_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| largest_of(Path::new(CPU_CACHES)).unwrap_or(UNKNOWN_BYTES))
}

fn largest_of(folder: &Path) -> Option<u64> {
    let caches = std::fs::read_dir(folder).ok()?;
    let sizes = caches.filter_map(|cache| std::fs::read_to_string(cache.ok()?.path().join("size")).ok());
    sizes.filter_map(|size| parsed(&size)).max()
}

/// `32768K`, `1M` or a number of bytes.
fn parsed(size: &str) -> Option<u64> {
    let size = size.trim();
    let (digits, factor) = match size.as_bytes().last()? {
        b'K' => (&size[..size.len() - 1], 1 << 10),
        b'M' => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them_and_anything_else_is_none() {
        assert_eq!(parsed("32768K\n"), Some(32 << 20));
        assert_eq!(parsed("1M"), Some(1 << 20));
        assert_eq!(parsed("512"), Some(512));
        for wrong in ["", "K", "-1K", "1.5M", "99999999999999999999", "18446744073709551615K"] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_largest_of_several_caches_counts_and_a_folder_without_any_is_none() {
        let folder = std::env::temp_dir().join(format!("framegate-cache-{}", std::process::id()));
        for (name, size) in [("index0", "32K\n"), ("index1", "8M\n"), ("index2", "1024K\n")] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("size"), size).unwrap();
        }
        std::fs::write(folder.join("uevent"), "").unwrap();
        assert_eq!(largest_of(&folder), Some(8 << 20));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(largest_of(&folder), None);
    }
}
