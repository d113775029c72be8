//! The only mapping from what a Redis client says to what a check can react to.

use limiter_core::store::StoreFault;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The fault that an error stands for.
pub(super) fn fault(error: &RedisError) -> StoreFault {
    if error.is_timeout() {
        return StoreFault::Deadline;
    }
    // It answered, and a wrong password is for its operator to set right.
    if error.kind() == ErrorKind::AuthenticationFailed {
        return StoreFault::Refused;
    }
    if error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error() {
        return StoreFault::Unreachable;
    }
    match (error.kind(), error.code()) {
        (ErrorKind::Parse | ErrorKind::UnexpectedReturnType, _) => StoreFault::Corrupt,
        // Another program's value under our key, or a state that the script cannot make sense of.
        (_, Some("WRONGTYPE" | "CORRUPT")) => StoreFault::Corrupt,
        _ => StoreFault::Refused,
    }
}

/// Whether the server has forgotten the script, as after a restart, a failover or `SCRIPT FLUSH`.
pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: &str) -> StoreFault {
        let reply = format!("-{code} something\r\n");
        let value = redis::parse_redis_value(reply.as_bytes()).unwrap();
        fault(&value.extract_error().unwrap_err())
    }

    #[test]
    fn a_server_that_refuses_is_told_from_one_that_makes_no_sense() {
        for code in [
            "READONLY",
            "OOM",
            "LOADING",
            "NOPERM",
            "NOAUTH",
            "MASTERDOWN",
            "MISCONF",
            "ERR",
        ] {
            assert_eq!(told(code), StoreFault::Refused, "{code}");
        }
        for code in ["WRONGTYPE", "CORRUPT"] {
            assert_eq!(told(code), StoreFault::Corrupt, "{code}");
        }
    }

    #[test]
    fn a_lost_connection_is_unreachable_and_a_late_reply_is_a_deadline() {
        let io = |kind| fault(&RedisError::from(std::io::Error::from(kind)));
        assert_eq!(
            io(std::io::ErrorKind::ConnectionRefused),
            StoreFault::Unreachable
        );
        assert_eq!(io(std::io::ErrorKind::BrokenPipe), StoreFault::Unreachable);
        assert_eq!(
            io(std::io::ErrorKind::UnexpectedEof),
            StoreFault::Unreachable
        );
        assert_eq!(io(std::io::ErrorKind::TimedOut), StoreFault::Deadline);
    }
}
