//! Laws of the algorithms, and cases that other limiters got wrong.

mod cases;
mod counter;
mod laws;
