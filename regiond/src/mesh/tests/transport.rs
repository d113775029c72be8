//! What travels, and what is refused.

use bytes::Bytes;
use sync_proto::Lane;
use sync_proto::bounds::FRAME_BYTES_MAX;

use super::{pair, region, until, within};
use crate::mesh::bounds::STREAMS_OUT_MAX;
use crate::mesh::quic;
use crate::mesh::way::{Kind, REFUSED};

#[tokio::test]
async fn frames_arrive_whole_on_every_lane() {
    let (mumbai, mut delhi) = pair();
    mumbai.until_reaches(&delhi).await;
    let largest = vec![7_u8; FRAME_BYTES_MAX];
    for (lane, frame) in [
        (Lane::Heartbeat, b"alive".to_vec()),
        (Lane::Urgent, b"hurry".to_vec()),
        (Lane::Tick, b"counts".to_vec()),
        (Lane::Tick, largest.clone()),
        // Too long for a datagram: travels all the same.
        (Lane::Urgent, largest),
    ] {
        assert!(mumbai.links.send(&region("delhi"), lane, &frame));
        let (from, heard) = delhi.frame().await;
        assert_eq!(
            (from, heard),
            (region("mumbai"), Bytes::from(frame)),
            "{lane:?}"
        );
    }
}

#[tokio::test]
async fn a_frame_without_a_way_is_refused_at_once() {
    let (mumbai, _delhi) = pair();
    assert!(
        !mumbai
            .links
            .send(&region("singapore"), Lane::Tick, b"counts")
    );
}

#[tokio::test]
async fn sending_is_bounded_and_never_waits() {
    let (mumbai, delhi) = pair();
    mumbai.until_reaches(&delhi).await;
    mumbai.wan.cut(delhi.address);
    let accepted = (0..1_000)
        .filter(|_| {
            mumbai
                .links
                .send(&region("delhi"), Lane::Tick, &[0; FRAME_BYTES_MAX])
        })
        .count();
    // The membership's messages travel the same way.
    assert!(
        (STREAMS_OUT_MAX - 8..=STREAMS_OUT_MAX).contains(&accepted),
        "{accepted}"
    );
}

#[tokio::test]
async fn what_is_malformed_is_refused_and_the_next_frame_still_arrives() {
    let (mumbai, mut delhi) = pair();
    mumbai.until_reaches(&delhi).await;
    let address = delhi.address.to_string();
    let us = mumbai.links.identity();
    let endpoint = mumbai.links.endpoint();
    let to = region("delhi");
    let connection = within(quic::dial(endpoint, &us, &to, &address, 0))
        .await
        .unwrap();

    let too_long = vec![Kind::Frame as u8; FRAME_BYTES_MAX + 2];
    for garbage in [
        &b""[..],
        &[99, 1, 2],
        &[Kind::Gossip as u8, 0xff],
        &too_long,
    ] {
        let mut stream = within(connection.open_uni()).await.unwrap();
        // The other end may have refused before the end was written.
        let _refused = within(stream.write_all(garbage)).await;
        let _refused = stream.finish();
        let told = within(stream.stopped()).await.unwrap();
        assert!(told.is_none() || told == Some(REFUSED.into()), "{told:?}");
    }
    connection
        .send_datagram(Bytes::from_static(&[99, 1]))
        .unwrap();

    let mut stream = within(connection.open_uni()).await.unwrap();
    stream
        .write_all(&Kind::Frame.message(b"counts"))
        .await
        .unwrap();
    stream.finish().unwrap();
    assert_eq!(
        delhi.frame().await,
        (region("mumbai"), Bytes::from_static(b"counts"))
    );
    assert!(connection.close_reason().is_none());
}

#[tokio::test]
async fn a_peer_that_was_away_is_dialled_again() {
    let (mumbai, mut delhi) = pair();
    mumbai.until_reaches(&delhi).await;

    mumbai.wan.cut(delhi.address);
    delhi.wan.cut(mumbai.address);
    until(|| !mumbai.links.reaches(&region("delhi"))).await;
    mumbai.wan.heal(delhi.address);
    delhi.wan.heal(mumbai.address);

    mumbai.until_reaches(&delhi).await;
    assert!(mumbai.links.send(&region("delhi"), Lane::Tick, b"again"));
    assert_eq!(delhi.frame().await.1, Bytes::from_static(b"again"));
}

#[tokio::test]
async fn drained_waits_until_the_peer_has_everything() {
    let (mumbai, mut delhi) = pair();
    mumbai.until_reaches(&delhi).await;
    for _ in 0..20 {
        assert!(mumbai.links.send(&region("delhi"), Lane::Tick, &[1; 1_000]));
    }
    within(mumbai.links.drained()).await;
    mumbai.links.stop();
    for _ in 0..20 {
        delhi.frame().await;
    }
}
