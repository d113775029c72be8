//! The WAN in front of loopback.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::AsyncUdpSocket;
use quinn::udp::{RecvMeta, Transmit};
use sync_proto::{MonoTime, Span};

use super::{Clock, WanLinks, WanSocket, socket, within};

struct End {
    address: SocketAddr,
    links: WanLinks,
    socket: Arc<WanSocket>,
}

fn end(seed: u64) -> End {
    let (address, inner) = socket();
    let links = WanLinks::new(seed);
    let socket = WanSocket::wrap(inner, links.clone());
    End {
        address,
        links,
        socket,
    }
}

impl End {
    fn send(&self, to: &Self, contents: &[u8]) {
        let transmit = Transmit {
            destination: to.address,
            ecn: None,
            contents,
            segment_size: None,
            src_ip: None,
        };
        self.socket.try_send(&transmit).unwrap();
    }

    async fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let mut meta = [RecvMeta::default()];
        let read = std::future::poll_fn(|cx| {
            self.socket
                .poll_recv(cx, &mut [IoSliceMut::new(&mut buffer)], &mut meta)
        });
        assert_eq!(within(read).await.unwrap(), 1);
        buffer.truncate(meta[0].stride.min(meta[0].len));
        buffer
    }
}

fn since(clock: Clock, start: MonoTime) -> Span {
    clock.mono().since(start)
}

#[tokio::test]
async fn a_datagram_takes_its_delay() {
    let (here, there) = (end(1), end(2));
    here.links
        .set_delay(there.address, Span::from_millis(80), Span::from_millis(20));
    let clock = Clock::start();
    let start = clock.mono();
    here.send(&there, b"slow");
    there.send(&here, b"fast");
    assert_eq!(here.receive().await, b"fast");
    assert_eq!(there.receive().await, b"slow");
    assert!(since(clock, start) >= Span::from_millis(80));
}

#[tokio::test]
async fn without_jitter_datagrams_keep_their_order() {
    let (here, there) = (end(1), end(2));
    here.links
        .set_delay(there.address, Span::from_millis(5), Span::ZERO);
    for number in 0..50_u8 {
        here.send(&there, &[number]);
    }
    for number in 0..50_u8 {
        assert_eq!(there.receive().await, [number]);
    }
}

#[tokio::test]
async fn a_cut_swallows_what_is_on_its_way_too_and_healing_brings_nothing_back() {
    let (here, there) = (end(1), end(2));
    here.links
        .set_delay(there.address, Span::from_millis(50), Span::ZERO);
    here.send(&there, b"on its way");
    here.links.cut(there.address);
    here.send(&there, b"never");
    here.links.set_delay(there.address, Span::ZERO, Span::ZERO);
    let (witness, clock) = (end(3), Clock::start());
    witness
        .links
        .set_delay(here.address, Span::from_millis(60), Span::ZERO);
    witness.send(&here, b"60 ms have passed");
    assert_eq!(here.receive().await, b"60 ms have passed");
    assert!(since(clock, MonoTime::default()) >= Span::from_millis(60));
    here.links.heal(there.address);
    here.send(&there, b"after");
    assert_eq!(there.receive().await, b"after");
}

#[tokio::test]
async fn the_same_seed_loses_the_same_datagrams() {
    let lost = |seed| async move {
        let (here, there) = (end(seed), end(9));
        here.links.set_loss(there.address, 500);
        for number in 0..100_u8 {
            here.send(&there, &[number]);
        }
        here.links.set_loss(there.address, 0);
        here.send(&there, b"end");
        let mut arrived = Vec::new();
        loop {
            let datagram = there.receive().await;
            if datagram == b"end" {
                return arrived;
            }
            arrived.push(datagram);
        }
    };
    let (first, again, other) = (lost(7).await, lost(7).await, lost(8).await);
    assert!(first.len() > 20 && first.len() < 80, "{}", first.len());
    assert_eq!(first, again);
    assert_ne!(first, other);
}
