//! The closed choices of a rule, with the words that people write for them.

/// A choice among words.
pub(super) trait Choice: Copy + 'static {
    /// Every word and what it means.
    const WORDS: &'static [(&'static str, Self)];
}

/// What a rule's verdict does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Denies.
    Enforce,
    /// Is judged with counters of its own, and denies nobody.
    Shadow,
    /// Does not exist.
    Off,
}

impl Choice for Mode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforce", Self::Enforce),
        ("shadow", Self::Shadow),
        ("off", Self::Off),
    ];
}

/// What decides when the store does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// Allowed.
    Open,
    /// Denied.
    Closed,
    /// A bucket in the pod's memory with the limit over the region's live pods.
    Local,
}

impl Choice for OnStoreFailure {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("open", Self::Open),
        ("closed", Self::Closed),
        ("local", Self::Local),
    ];
}

/// Who counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All regions.
    Global,
    /// Each region alone.
    Region,
}

impl Choice for Scope {
    const WORDS: &'static [(&'static str, Self)] =
        &[("global", Self::Global), ("region", Self::Region)];
}

/// How regions share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Known counts alone.
    Eager,
    /// Known counts, an estimate of what is not known yet, and a region's part when blind.
    Balanced,
    /// Each region keeps to its part, always, by count.
    Strict,
    /// Each region keeps to its part of rate and burst.
    Shares,
}

impl Choice for Sharing {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("eager", Self::Eager),
        ("balanced", Self::Balanced),
        ("strict", Self::Strict),
        ("shares", Self::Shares),
    ];
}

/// What happens to the part of a region that is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPartition {
    /// A majority takes back what it does not use.
    Reclaim,
    /// Nobody does.
    Hold,
    /// It drops to its floor before the others take it back.
    Fence,
}

impl Choice for OnPartition {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("reclaim", Self::Reclaim),
        ("hold", Self::Hold),
        ("fence", Self::Fence),
    ];
}

/// What happens when a fact of the key is missing or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissingKey {
    /// The rule does not apply.
    Skip,
    /// The request is denied.
    Deny,
    /// All such requests share one key.
    Shared,
}

impl Choice for OnMissingKey {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("skip", Self::Skip),
        ("deny", Self::Deny),
        ("shared", Self::Shared),
    ];
}
