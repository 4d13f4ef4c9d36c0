// SPDX-License-Identifier: Apache-2.0
//! Region files: created so that nothing can fail later, and opened so that nothing can be smuggled in (PROTOCOL 6).
//!
//! A new file gets all its memory before any process maps it. So a full file system is an error here, and never a
//! SIGBUS in the middle of a frame. A file that another process made is opened by its canonical path inside an allowed
//! directory, without following links; then the file that was opened is compared with the one that was checked.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use super::layout::SUPERBLOCK_BYTES;
use super::superblock::{Expected, Superblock, SuperblockFault};

const HUGETLBFS_MAGIC: i64 = 0x9584_58F6;
const POPULATED_AT_ONCE_BYTES: usize = 16 << 20;

/// Why a region could not be made or opened.
#[derive(Debug)]
pub enum RegionError {
    /// The file system has no room for it.
    NoRoom {
        /// Bytes that the region needs.
        want_bytes: u64,
    },
    /// This process lacks the permission.
    NoPermission(io::Error),
    /// The path, the file or its content is not acceptable; the reason says why.
    Refused(String),
    /// The superblock contradicts the announce.
    Superblock(SuperblockFault),
    /// Any other error of the system.
    Io(io::Error),
}

impl From<io::Error> for RegionError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::ENOMEM) => Self::NoRoom { want_bytes: 0 },
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => Self::NoPermission(error),
            _ => Self::Io(error),
        }
    }
}

impl From<SuperblockFault> for RegionError {
    fn from(fault: SuperblockFault) -> Self {
        Self::Superblock(fault)
    }
}

fn refused<T>(reason: impl Into<String>) -> Result<T, RegionError> {
    Err(RegionError::Refused(reason.into()))
}

/// The options for making a region.
#[derive(Clone, Copy, Debug)]
pub struct CreateOptions {
    /// File mode. Bits for users outside the owner and group are refused.
    pub mode: u32,
    /// Touch every page now, because the first touch of a page runs at a tenth of the speed of memory.
    pub prefault: bool,
    /// Refuse any file system but one of huge pages.
    pub require_hugepages: bool,
}

/// The options for opening a region that another process made.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptionsForRegion {
    /// Map it for writing too.
    pub writable: bool,
    /// Refuse any file system but one of huge pages.
    pub require_hugepages: bool,
    /// Touch every page now.
    pub prefault: bool,
}

/// A mapped region. Dropping it unmaps the region; the file stays.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
    path: PathBuf,
    is_writable: bool,
    /// What its superblock said when it was checked. Other processes can write there, so it is not read a second time.
    checked: Expected,
}

// SAFETY: a region is an address range. All shared words in it are accessed atomically, and payload bytes count only
// after the commit word was checked.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Makes the file of a region, writes its superblock, and maps it. Missing folders above it are made too, closed to
    /// others.
    ///
    /// # Errors
    /// If anything fails the file is removed again, so that nothing half-made is left.
    pub fn create(
        path: &Path,
        expected: &Expected,
        pid: u64,
        now_ns: u64,
        options: CreateOptions,
    ) -> Result<Self, RegionError> {
        if options.mode & 0o007 != 0 || options.mode & !0o770 != 0 {
            return refused(format!("mode {:o} would let others in", options.mode));
        }
        if let Some(parent) = path.parent() {
            make_private_folders(parent, options.mode)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(options.mode)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        Self::fill_new(&file, path, expected, pid, now_ns, options).inspect_err(|_| {
            // This process may remove it: `create_new` made it a moment ago.
            let _ = fs::remove_file(path);
        })
    }

    fn fill_new(
        file: &File,
        path: &Path,
        expected: &Expected,
        pid: u64,
        now_ns: u64,
        options: CreateOptions,
    ) -> Result<Self, RegionError> {
        // The umask must not remove permissions that the configuration gives.
        file.set_permissions(fs::Permissions::from_mode(options.mode))?;
        check_hugepages(file, options.require_hugepages)?;
        allocate(file, expected.file_bytes())?;
        let region = Self::map(file, path, expected, true, options.prefault)?;
        let block = expected.superblock(pid, now_ns).encode();
        // SAFETY: the mapping is at least a superblock long, writable, and not yet known to any other process.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), region.start.as_ptr(), SUPERBLOCK_BYTES) };
        file.sync_all()?;
        Ok(region)
    }

    /// Opens a region that another process made, at `path` inside one of the `allowed` folders, which are canonical.
    ///
    /// # Errors
    /// For every reason of PROTOCOL 6.3, and if the superblock is not the one that was announced.
    pub fn open(
        path: &Path,
        allowed: &[PathBuf],
        expected: &Expected,
        options: OpenOptionsForRegion,
    ) -> Result<Self, RegionError> {
        let file = open_checked(path, allowed, options.writable)?;
        check_hugepages(&file, options.require_hugepages)?;
        let (have, want) = (file.metadata()?.len(), expected.file_bytes());
        if have < want {
            return refused(format!("the file has {have} bytes, its slots need {want}"));
        }
        let region = Self::map(&file, path, expected, options.writable, options.prefault)?;
        region.superblock()?.check(expected)?;
        Ok(region)
    }

    fn map(
        file: &File,
        path: &Path,
        expected: &Expected,
        is_writable: bool,
        prefault: bool,
    ) -> Result<Self, RegionError> {
        let Ok(bytes) = usize::try_from(expected.file_bytes()) else {
            return refused(format!("{} bytes cannot be addressed on this machine", expected.file_bytes()));
        };
        let protection = if is_writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let (null, shared) = (std::ptr::null_mut(), libc::MAP_SHARED);
        // SAFETY: a new shared mapping of an open file at an address of the kernel's choice.
        let start = unsafe { libc::mmap(null, bytes, protection, shared, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error().into());
        }
        let Some(start) = NonNull::new(start.cast()) else {
            return refused("the kernel mapped it at address 0");
        };
        let region = Self { start, bytes, path: path.to_owned(), is_writable, checked: *expected };
        if prefault {
            region.populate();
        }
        Ok(region)
    }

    /// Touches every page, some megabytes at a time: while the kernel does so, no other thread of this process can get
    /// memory. A page that cannot be had now is fetched, or found missing, when it is used.
    fn populate(&self) {
        let advice = if self.is_writable { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
        for offset in (0..self.bytes).step_by(POPULATED_AT_ONCE_BYTES) {
            let length = POPULATED_AT_ONCE_BYTES.min(self.bytes - offset);
            // SAFETY: a range of this mapping; its bytes are not changed.
            if unsafe { libc::madvise(self.start.as_ptr().add(offset).cast(), length, advice) } != 0 {
                return;
            }
        }
    }

    /// What the region was made as, or what its superblock was found to say. The mapping is as long as that requires.
    #[must_use]
    pub const fn checked(&self) -> &Expected {
        &self.checked
    }

    /// A copy of the superblock at this moment. Another process may have changed it, so the caller must not trust it.
    ///
    /// # Errors
    /// If the magic is missing.
    pub fn superblock(&self) -> Result<Superblock, SuperblockFault> {
        let mut block = [0_u8; SUPERBLOCK_BYTES];
        // SAFETY: every region is at least a superblock long, by `Expected::file_bytes`.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), block.as_mut_ptr(), SUPERBLOCK_BYTES) };
        Superblock::decode(&block)
    }

    /// The address of byte `offset`. None unless `length` bytes from there are all inside the region.
    #[inline]
    #[must_use]
    pub fn at(&self, offset: u64, length: usize) -> Option<*mut u8> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(length)?;
        // SAFETY: start <= end <= bytes, so the result is inside the mapping or one past it.
        (end <= self.bytes).then(|| unsafe { self.start.as_ptr().add(start) })
    }

    /// The address at which the region is mapped.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The length of the mapping in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The path of the region's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this process may write into the region.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Locks the pages of the region in memory.
    ///
    /// # Errors
    /// The kernel's error. Nearly always the limit for locked memory is too low.
    pub fn lock(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping.
        match unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` and is unmapped once, here.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Makes missing folders for this user alone, or for its group if the files are for the group.
fn make_private_folders(folder: &Path, file_mode: u32) -> Result<(), RegionError> {
    let mode = if file_mode & 0o070 == 0 { 0o700 } else { 0o2770 };
    let missing: Vec<&Path> = folder.ancestors().take_while(|each| !each.exists()).collect();
    for each in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(each) {
            // mkdir ignores the set-group-id bit, and every bit that the umask forbids.
            Ok(()) => fs::set_permissions(each, fs::Permissions::from_mode(mode))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn allocate(file: &File, bytes: u64) -> Result<(), RegionError> {
    let Ok(length) = libc::off_t::try_from(bytes) else {
        return refused(format!("{bytes} bytes are more than a file can have"));
    };
    // A call that a signal interrupted has done nothing, so it is repeated.
    let code = loop {
        // SAFETY: an open descriptor and two numbers.
        let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) };
        if code != libc::EINTR {
            break code;
        }
    };
    match code {
        0 => Ok(()),
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Err(RegionError::NoRoom { want_bytes: bytes }),
        code => Err(io::Error::from_raw_os_error(code).into()),
    }
}

fn check_hugepages(file: &File, required: bool) -> Result<(), RegionError> {
    if required && !is_on_hugepages(file)? {
        return refused("huge pages are required and the file is not on hugetlbfs");
    }
    Ok(())
}

/// Whether the file is on a file system of huge pages.
///
/// # Errors
/// The system's error.
pub fn is_on_hugepages(file: &File) -> io::Result<bool> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: an open descriptor and room for the answer.
    if unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fstatfs succeeded, so it filled the struct.
    let found = unsafe { found.assume_init() };
    #[allow(clippy::useless_conversion, reason = "the field is 32 bits wide on some machines")]
    Ok(i64::from(found.f_type) == HUGETLBFS_MAGIC)
}

/// Opens a file with the checks of PROTOCOL 6.3, in its order.
fn open_checked(path: &Path, allowed: &[PathBuf], writable: bool) -> Result<File, RegionError> {
    if !path.is_absolute() {
        return refused("the path is not absolute");
    }
    let canonical = path.canonicalize()?;
    let Some(base) = allowed.iter().find(|base| canonical.starts_with(base)) else {
        return refused(format!("it lies outside every allowed directory ({})", listed(allowed)));
    };
    // A user who may write into a folder can replace this file by another, or truncate it.
    for folder in canonical.ancestors().skip(1).take_while(|folder| folder.starts_with(base)) {
        check_folder(folder)?;
    }
    // The name itself must be the file: a link, even to a good file, can be changed during the checks.
    let named = fs::symlink_metadata(path)?;
    if named.file_type().is_symlink() {
        return refused("it is a symbolic link");
    }
    check_kind(&named)?;
    check_owner(&named)?;
    let file = open_without_links(&canonical, writable)?;
    let opened = file.metadata()?;
    check_kind(&opened)?;
    if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
        return refused("another file was put in its place while it was opened");
    }
    Ok(file)
}

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

fn check_kind(metadata: &fs::Metadata) -> Result<(), RegionError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    refused(format!("it is {what}, not a regular file"))
}

/// Checks that a file belongs to this user, to root, or to our group if its mode lets the group write; and that it is
/// closed to all others.
fn check_owner(metadata: &fs::Metadata) -> Result<(), RegionError> {
    let mode = metadata.mode() & 0o777;
    if mode & 0o007 != 0 {
        return refused(format!("its mode {mode:o} lets others in"));
    }
    // SAFETY: reads this process's user id.
    let me = unsafe { libc::geteuid() };
    let shares_group = mode & 0o060 != 0 && is_in_group(metadata.gid());
    if metadata.uid() != me && metadata.uid() != 0 && !shares_group {
        return refused(format!("it belongs to user {}, not to {me}", metadata.uid()));
    }
    Ok(())
}

/// Checks that a folder belongs to this user, to root or to our group, and that nobody else may write into it, unless
/// everyone may remove only their own files there (sticky bit).
fn check_folder(folder: &Path) -> Result<(), RegionError> {
    let metadata = fs::metadata(folder)?;
    let (mode, name) = (metadata.mode() & 0o7777, folder.display());
    // SAFETY: reads this process's user id.
    let me = unsafe { libc::geteuid() };
    let shares_group = mode & 0o020 != 0 && is_in_group(metadata.gid());
    if metadata.uid() != me && metadata.uid() != 0 && !shares_group {
        return refused(format!("its folder {name} belongs to user {}, not to {me}", metadata.uid()));
    }
    if mode & 0o1002 == 0o0002 {
        return refused(format!("others may write into its folder {name}, mode {mode:o}"));
    }
    Ok(())
}

fn is_in_group(gid: u32) -> bool {
    let mut groups = [0; 1024];
    // SAFETY: room for as many ids as the length says; both calls only read this process's groups.
    let (own, count) = unsafe { (libc::getegid(), libc::getgroups(groups.len() as i32, groups.as_mut_ptr())) };
    gid == own || groups[..usize::try_from(count).unwrap_or(0)].contains(&gid)
}

/// Opens a canonical path so that no component can have become a link in the meantime.
fn open_without_links(canonical: &Path, writable: bool) -> Result<File, RegionError> {
    // Non-blocking: a FIFO that was put in its place must not make this call wait. A regular file ignores the flag.
    let flags =
        libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | if writable { libc::O_RDWR } else { libc::O_RDONLY };
    let Ok(name) = CString::new(canonical.as_os_str().as_bytes()) else {
        return refused("the path contains a NUL character");
    };
    // SAFETY: all zero is a valid open_how: no flags.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = flags as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    // SAFETY: a NUL-terminated path and an open_how of the size that is passed.
    let opened =
        unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, name.as_ptr(), &how, size_of::<libc::open_how>()) };
    if opened >= 0 {
        // SAFETY: the kernel has just returned this descriptor, and nothing else uses it.
        return Ok(unsafe { File::from_raw_fd(opened as i32) });
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ELOOP) => refused("a component of its path became a symbolic link"),
        // Kernels before 5.6 and some sandboxes lack this call. The last component is still guarded.
        Some(libc::ENOSYS | libc::EPERM) => {
            Ok(OpenOptions::new().read(true).write(writable).custom_flags(flags).open(canonical)?)
        }
        _ => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    const POOL: Expected = Expected { stream_id: 10_000, epoch: 7, pool_id: 1, nslots: 4, stride_bytes: 4096 };
    const CREATE: CreateOptions = CreateOptions { mode: 0o600, prefault: false, require_hugepages: false };
    const READ: OpenOptionsForRegion =
        OpenOptionsForRegion { writable: false, require_hugepages: false, prefault: false };

    /// A folder of the test's own, removed with it.
    struct Base(PathBuf);

    impl Base {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("framegate-region-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path.canonicalize().unwrap())
        }

        fn made(&self, name: &str) -> PathBuf {
            let path = self.0.join(name);
            Region::create(&path, &POOL, 1, 1, CREATE).unwrap();
            path
        }

        fn open(&self, path: &Path) -> Result<Region, RegionError> {
            Region::open(path, std::slice::from_ref(&self.0), &POOL, READ)
        }

        fn reason(&self, path: &Path) -> String {
            match self.open(path) {
                Err(RegionError::Refused(reason)) => reason,
                other => panic!("{other:?}"),
            }
        }
    }

    impl Drop for Base {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_made_is_opened_and_is_private() {
        let base = Base::new("made");
        let path = base.made("deep/er/1.pool");
        let region = base.open(&path).unwrap();
        assert_eq!(region.bytes() as u64, POOL.file_bytes());
        assert_eq!(region.superblock().unwrap().epoch, 7);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn addresses_outside_the_region_are_not_given_out() {
        let base = Base::new("at");
        let region = base.open(&base.made("1.pool")).unwrap();
        let bytes = region.bytes() as u64;
        assert!(region.at(bytes - 8, 8).is_some());
        assert!(region.at(bytes - 7, 8).is_none());
        assert!(region.at(u64::MAX, 8).is_none());
        assert!(region.at(8, usize::MAX).is_none());
    }

    #[test]
    fn a_file_that_exists_is_never_taken_over() {
        let base = Base::new("exists");
        let path = base.made("1.pool");
        assert!(matches!(Region::create(&path, &POOL, 1, 1, CREATE), Err(RegionError::Io(_))));
        assert!(base.open(&path).is_ok());
    }

    #[test]
    fn a_mode_that_lets_others_in_is_refused_on_both_sides() {
        let base = Base::new("mode");
        let loose = CreateOptions { mode: 0o644, ..CREATE };
        let made = Region::create(&base.0.join("1.pool"), &POOL, 1, 1, loose);
        assert!(matches!(made, Err(RegionError::Refused(_))));
        let path = base.made("2.pool");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(base.reason(&path).contains("lets others in"));
    }

    #[test]
    fn a_link_is_refused_even_where_it_points_at_a_good_region() {
        let base = Base::new("link");
        let path = base.made("1.pool");
        let link = base.0.join("link.pool");
        symlink(&path, &link).unwrap();
        assert!(base.reason(&link).contains("symbolic link"));
    }

    #[test]
    fn a_path_that_leaves_the_base_is_refused() {
        let (base, other) = (Base::new("inside"), Base::new("inside-not"));
        let outside = other.made("1.pool");
        assert!(base.reason(&outside).contains("outside"));
        symlink(&other.0, base.0.join("door")).unwrap();
        assert!(base.reason(&base.0.join("door/1.pool")).contains("outside"));
        let dots = base.0.join("../").join(other.0.file_name().unwrap()).join("1.pool");
        assert!(base.reason(&dots).contains("outside"));
        assert!(base.reason(Path::new("1.pool")).contains("absolute"));
        let nothing_allowed = Region::open(&base.made("2.pool"), &[], &POOL, READ);
        assert!(matches!(nothing_allowed, Err(RegionError::Refused(_))));
    }

    #[test]
    fn what_is_not_a_regular_file_is_refused() {
        let base = Base::new("kinds");
        let folder = base.0.join("folder");
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        assert!(base.reason(&folder).contains("a directory"));
        let socket = base.0.join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(base.reason(&socket).contains("a socket"));
    }

    #[test]
    fn a_file_shorter_than_its_slots_is_refused() {
        let base = Base::new("short");
        let path = base.made("1.pool");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(POOL.file_bytes() - 1).unwrap();
        assert!(base.reason(&path).contains("bytes"));
    }

    #[test]
    fn a_superblock_of_another_region_is_refused() {
        let base = Base::new("superblock");
        let path = base.made("1.pool");
        let other = Expected { epoch: 8, ..POOL };
        let opened = Region::open(&path, std::slice::from_ref(&base.0), &other, READ);
        assert!(matches!(opened, Err(RegionError::Superblock(SuperblockFault { field: "epoch", .. }))));
    }

    #[test]
    fn huge_pages_are_never_downgraded() {
        let base = Base::new("huge");
        let wants = CreateOptions { require_hugepages: true, ..CREATE };
        let path = base.0.join("1.pool");
        assert!(matches!(Region::create(&path, &POOL, 1, 1, wants), Err(RegionError::Refused(_))));
        assert!(!path.exists(), "nothing half made is left");
        let opened = Region::open(
            &base.made("2.pool"),
            std::slice::from_ref(&base.0),
            &POOL,
            OpenOptionsForRegion { require_hugepages: true, ..READ },
        );
        assert!(matches!(opened, Err(RegionError::Refused(_))));
    }

    #[test]
    fn more_than_the_file_system_holds_is_no_room_and_leaves_nothing() {
        let base = Base::new("room");
        let path = base.0.join("1.pool");
        let vast = Expected { nslots: 1 << 28, stride_bytes: 1 << 20, ..POOL };
        match Region::create(&path, &vast, 1, 1, CREATE) {
            Err(RegionError::NoRoom { want_bytes }) => assert_eq!(want_bytes, vast.file_bytes()),
            other => panic!("{other:?}"),
        }
        assert!(!path.exists());
    }
}
