//! Facts of a request.
/// Facts: sorted, bounded, canonical.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(Box<str>, Box<str>)>);

/// Why a fact was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// Placeholder.
    #[error("too many facts")]
    TooMany,
}

impl Facts {
    /// Canonical facts: `ip` is brought to its canonical form.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        _pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, FactError> {
        unimplemented!()
    }
    /// The value called `name`.
    pub fn value(&self, _name: &str) -> Option<&str> {
        unimplemented!()
    }
    /// All, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}
