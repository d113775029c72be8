//! Store operations as Redis scripts: text, KEYS, ARGV and replies; no connection.
use super::{Fold, FoldReply, GroupReply, StoreFault, TakeGroup, Undo};

/// A script: its text and its SHA-1 in hex is for the connection to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Takes a group.
    Take,
    /// Gives back.
    Undo,
    /// Folds.
    Fold,
}

impl Script {
    /// The Lua source.
    pub fn source(self) -> &'static str {
        unimplemented!()
    }
}

/// KEYS and ARGV of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// KEYS, all of one hash tag.
    pub keys: Vec<Vec<u8>>,
    /// ARGV.
    pub args: Vec<Vec<u8>>,
}

/// A take as a call.
pub fn encode_take(_group: &TakeGroup) -> Call {
    unimplemented!()
}
/// A take's reply: the script returns a flat list of integers.
pub fn decode_take(_group: &TakeGroup, _reply: &[i64]) -> Result<GroupReply, StoreFault> {
    unimplemented!()
}
/// An undo as a call. Its reply carries nothing.
pub fn encode_undo(_undo: &Undo) -> Call {
    unimplemented!()
}
/// A fold as a call.
pub fn encode_fold(_fold: &Fold) -> Call {
    unimplemented!()
}
/// A fold's reply.
pub fn decode_fold(_reply: &[i64]) -> Result<FoldReply, StoreFault> {
    unimplemented!()
}
