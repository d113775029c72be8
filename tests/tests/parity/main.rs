//! The Redis scripts decide what the embedded store decides.

#[cfg(test)]
mod dice;
#[cfg(test)]
mod eval;
#[cfg(test)]
mod random;
#[cfg(test)]
mod scripts;
