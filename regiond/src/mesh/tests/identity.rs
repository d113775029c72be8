//! Who is let in, and under which name.

use quinn::ConnectionError;

use super::{Input, MeshIdentity, Site, identity, new_authority, pair, quic, region, within};
use crate::mesh::certs;
use crate::mesh::quic::Unwelcome;

async fn dial(from: &Site, to: &Site, expected: &str) -> Result<quinn::Connection, Unwelcome> {
    let address = to.address.to_string();
    let us = from.links.identity();
    within(quic::dial(
        from.links.endpoint(),
        &us,
        &region(expected),
        &address,
        0,
    ))
    .await
}

#[tokio::test]
async fn a_peer_is_known_by_the_name_in_its_certificate() {
    let (mumbai, mut delhi) = pair();
    mumbai.until_reaches(&delhi).await;
    let Input::Connected(peer) = delhi.input().await else {
        panic!("no connection was told")
    };
    assert_eq!(peer, region("mumbai"));
}

#[tokio::test]
async fn a_server_with_a_certificate_of_another_authority_is_refused() {
    let (ours, other) = (
        new_authority("ours").unwrap(),
        new_authority("other").unwrap(),
    );
    let delhi = Site::start(identity(&other, "delhi"), &[]);
    let mumbai = Site::start(identity(&ours, "mumbai"), &[]);
    let refused = dial(&mumbai, &delhi, "delhi").await.unwrap_err();
    assert!(matches!(refused, Unwelcome::Handshake(_)), "{refused}");
}

#[tokio::test]
async fn a_client_with_a_certificate_of_another_authority_is_refused() {
    let (ours, other) = (
        new_authority("ours").unwrap(),
        new_authority("other").unwrap(),
    );
    let mut delhi = Site::start(identity(&ours, "delhi"), &[]);
    let both = format!("{}{}", ours.cert_pem, other.cert_pem);
    let certificate = certs::issue(&other, &region("mumbai"), 1).unwrap();
    let stranger = MeshIdentity::from_pem(&region("mumbai"), &both, &certificate).unwrap();
    let mumbai = Site::start(stranger, &[]);

    let connection = dial(&mumbai, &delhi, "delhi").await;
    if let Ok(connection) = connection {
        // The client's own handshake is done before the server has looked at its certificate.
        let closed = within(connection.closed()).await;
        assert!(
            matches!(closed, ConnectionError::ConnectionClosed(_)),
            "{closed}"
        );
    }
    assert!(delhi.inbox.try_recv().is_err());
}

#[tokio::test]
async fn a_region_cannot_answer_for_another() {
    let ca = new_authority("test").unwrap();
    let delhi = Site::start(identity(&ca, "delhi"), &[]);
    let mumbai = Site::start(identity(&ca, "mumbai"), &[]);
    assert!(dial(&mumbai, &delhi, "delhi").await.is_ok());
    assert!(dial(&mumbai, &delhi, "singapore").await.is_err());
}

#[tokio::test]
async fn a_region_cannot_connect_under_our_own_name() {
    let ca = new_authority("test").unwrap();
    let mut delhi = Site::start(identity(&ca, "delhi"), &[]);
    let impostor = Site::start(identity(&ca, "delhi"), &[]);
    let connection = dial(&impostor, &delhi, "delhi").await.unwrap();
    within(connection.closed()).await;
    assert!(delhi.inbox.try_recv().is_err());
}

#[tokio::test]
async fn without_certificates_loopback_works_under_the_claimed_name() {
    let delhi = Site::start(MeshIdentity::unproven(&region("delhi")).unwrap(), &[]);
    let mumbai = Site::start(
        MeshIdentity::unproven(&region("mumbai")).unwrap(),
        &[&delhi],
    );
    mumbai.until_reaches(&delhi).await;
    let other = dial(&mumbai, &delhi, "singapore").await.unwrap_err();
    assert!(matches!(other, Unwelcome::OtherRegion(ref found) if *found == region("delhi")));
}

#[tokio::test]
async fn without_certificates_the_mesh_does_not_leave_loopback() {
    let mumbai = Site::start(MeshIdentity::unproven(&region("mumbai")).unwrap(), &[]);
    let us = mumbai.links.identity();
    let dialled = quic::dial(
        mumbai.links.endpoint(),
        &us,
        &region("delhi"),
        "192.0.2.1:7946",
        0,
    )
    .await;
    assert!(
        matches!(dialled, Err(Unwelcome::NotLoopback)),
        "{dialled:?}"
    );
}

#[tokio::test]
async fn a_peer_without_certificates_does_not_get_in_where_they_are_used() {
    let ca = new_authority("test").unwrap();
    let mut delhi = Site::start(identity(&ca, "delhi"), &[]);
    let mumbai = Site::start(MeshIdentity::unproven(&region("mumbai")).unwrap(), &[]);
    if let Ok(connection) = dial(&mumbai, &delhi, "delhi").await {
        within(connection.closed()).await;
    }
    assert!(delhi.inbox.try_recv().is_err());
}

#[tokio::test]
async fn a_swapped_identity_holds_for_new_connections_and_leaves_old_ones_alone() {
    let (mumbai, delhi) = pair();
    mumbai.until_reaches(&delhi).await;

    let renewed = new_authority("renewed").unwrap();
    delhi.links.swap_identity(identity(&renewed, "delhi"));

    assert!(dial(&mumbai, &delhi, "delhi").await.is_err());
    assert!(mumbai.links.reaches(&region("delhi")));
    mumbai.links.swap_identity(identity(&renewed, "mumbai"));
    assert!(dial(&mumbai, &delhi, "delhi").await.is_ok());
}
