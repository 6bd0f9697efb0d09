//! The names of variables.

/// Variables that decide which code runs, or how a shell works.
pub(crate) fn is_never_set(name: &str) -> bool {
    ["PATH", "IFS", "ENV", "PWD", "OLDPWD", "SHELLOPTS"].contains(&name)
        || ["BASH", "LD_", "DYLD_"].iter().any(|prefix| name.starts_with(prefix))
}
