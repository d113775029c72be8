//! Reading what a proven peer sends: streams to their end, and datagrams.
//!
//! Promises: nothing unbounded is read, and a peer waits while we are busy. What is malformed is refused and counted,
//! and touches nothing else. Never reads a frame's content.

use bytes::Bytes;
use chitchat::{ChitchatMessage, Deserializable};
use quinn::{Connection, RecvStream, VarInt};
use sync_proto::RegionId;
use tokio::time::timeout;

use super::bounds::{MESSAGE_BYTES_MAX, STREAM_MAX};
use super::driver::Input;
use super::gossip::Heard;
use super::links::Links;
use super::way::{Kind, REFUSED};

/// Hears `connection`, whose other end is `region`, until it closes.
pub(super) async fn hear(links: &Links, region: &RegionId, connection: &Connection) {
    if links
        .sinks()
        .driver
        .send(Input::Connected(region.clone()))
        .await
        .is_err()
    {
        return;
    }
    loop {
        tokio::select! {
            stream = connection.accept_uni() => {
                let Ok(stream) = stream else { return };
                let (links, region) = (links.clone(), region.clone());
                let connection = connection.clone();
                // As many at one time as the peer may have streams open.
                tokio::spawn(async move { read(&links, &region, &connection, stream).await });
            }
            datagram = connection.read_datagram() => {
                let Ok(datagram) = datagram else { return };
                if let Err(why) = deliver(links, region, connection, datagram).await {
                    links.refusals().record(region.as_str(), &why);
                }
            }
        }
    }
}

async fn read(links: &Links, region: &RegionId, connection: &Connection, mut stream: RecvStream) {
    let message = match timeout(STREAM_MAX, stream.read_to_end(MESSAGE_BYTES_MAX)).await {
        Ok(Ok(message)) => message,
        Ok(Err(quinn::ReadToEndError::TooLong)) => {
            // A stream that is closed already needs no telling.
            let _closed = stream.stop(VarInt::from_u32(REFUSED));
            links
                .refusals()
                .record(region.as_str(), &"a message over the bound");
            return;
        }
        // The peer gave up, or the connection is gone, or it is too slow: nothing was said.
        Ok(Err(quinn::ReadToEndError::Read(_))) | Err(_) => return,
    };
    if let Err(why) = deliver(links, region, connection, message.into()).await {
        links.refusals().record(region.as_str(), &why);
    }
}

async fn deliver(
    links: &Links,
    region: &RegionId,
    connection: &Connection,
    message: Bytes,
) -> Result<(), &'static str> {
    match Kind::split(message) {
        Some((Kind::Frame, frame)) => {
            let input = Input::Frame {
                from: region.clone(),
                frame,
            };
            // A driver that has stopped needs no more frames.
            let _stopped = links.sinks().driver.send(input).await;
            Ok(())
        }
        Some((Kind::Gossip, message)) => {
            let message = ChitchatMessage::deserialize(&mut message.as_ref())
                .map_err(|_| "a malformed message of the membership")?;
            let heard = Heard {
                from: connection.remote_address(),
                message,
            };
            // Gossip repeats itself: what finds the queue full is not missed.
            let _full = links.sinks().gossip.try_send(heard);
            Ok(())
        }
        None => Err("a message of an unknown kind"),
    }
}
