//! How many threads a process should leave behind at most.

use std::fs;
use std::sync::OnceLock;

/// So many are enough: they take memory, and each slows the process down.
const MOST: u64 = 5_000;

/// Threads that are left behind before executions go on in a new process: no
/// more than a quarter of what the system lets us have. There are others who
/// start threads, and the next process is going to.
pub(crate) fn room() -> u64 {
    static ROOM: OnceLock<u64> = OnceLock::new();
    *ROOM.get_or_init(|| {
        let limits = [limit_of_user(), limit_of_group(), limit_of_system()];
        let least = limits.into_iter().flatten().min();
        least.map_or(MOST, |limit| (limit / 4).clamp(1, MOST))
    })
}

fn limit_of_user() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    soft_limit(&limits)
}

/// `Max processes             96365                96365                processes`
fn soft_limit(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max processes"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn limit_of_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let files = groups.lines().filter_map(limit_file);
    let limits = files.filter_map(|file| {
        let limit = fs::read_to_string(file).ok()?;
        limit.trim().parse().ok()
    });
    limits.min()
}

/// The file with the limit of a group: `0::/group`, or `8:pids:/group`.
fn limit_file(group: &str) -> Option<String> {
    let mut parts = group.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    match controllers {
        "" => Some(format!("/sys/fs/cgroup{path}/pids.max")),
        "pids" => Some(format!("/sys/fs/cgroup/pids{path}/pids.max")),
        _ => None,
    }
}

fn limit_of_system() -> Option<u64> {
    let limit = fs::read_to_string("/proc/sys/kernel/threads-max").ok()?;
    limit.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_a_user_is_read() {
        let line = |limit: &str| {
            format!(
                "Max file size unlimited unlimited bytes\nMax processes  {limit} 96365 processes\n"
            )
        };
        assert_eq!(soft_limit(&line("812")), Some(812));
        assert_eq!(soft_limit(&line("unlimited")), None);
        assert_eq!(soft_limit(""), None);
    }

    #[test]
    fn the_limit_of_a_group_is_where_its_version_has_it() {
        let file = |group| limit_file(group);
        assert_eq!(
            file("0::/a/b").as_deref(),
            Some("/sys/fs/cgroup/a/b/pids.max")
        );
        assert_eq!(
            file("8:pids:/a").as_deref(),
            Some("/sys/fs/cgroup/pids/a/pids.max")
        );
        assert_eq!(file("7:blkio:/a"), None);
        assert_eq!(file(""), None);
    }

    #[test]
    fn there_is_room_for_a_thread() {
        assert!((1..=MOST).contains(&room()));
    }
}
