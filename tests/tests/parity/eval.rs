//! One script call.

use limiter_core::store::redis_dialect::{Call, Script};

pub(crate) fn eval(script: Script, call: &Call) -> redis::Cmd {
    let mut command = redis::cmd("EVAL");
    command
        .arg(script.source())
        .arg(call.keys.len())
        .arg(&call.keys)
        .arg(&call.args);
    command
}

pub(crate) fn call(
    redis: &mut redis::Connection,
    script: Script,
    call: &Call,
) -> redis::RedisResult<Vec<i64>> {
    eval(script, call).query(redis)
}
