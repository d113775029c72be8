//! A wide-area network in front of loopback: a UDP socket whose datagrams take their time, are lost, or are cut off.
//!
//! Promises: the same seed draws the same delays and losses for the same datagrams; delays and cuts change at run time.
//! Never delays what is received: both ends delay what they send.

use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use sync_proto::{MonoTime, Span};
use tokio::sync::mpsc;

use crate::os::Clock;

/// Datagrams on their way out of one socket. One more is lost, as on any full link.
const ON_THE_WAY_MAX: usize = 16_384;

/// The links out of one socket: their delays, losses and cuts. Cheap to clone; all clones are the same links.
#[derive(Clone, Debug)]
pub struct WanLinks(Arc<Mutex<Links>>);

#[derive(Debug)]
struct Links {
    random: u64,
    to: BTreeMap<SocketAddr, Link>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    delay: Span,
    jitter: Span,
    loss_permille: u64,
    cut: bool,
}

impl WanLinks {
    /// Links without delay, whose draws depend on `seed`.
    pub fn new(seed: u64) -> Self {
        // The generator never leaves zero.
        Self(Arc::new(Mutex::new(Links {
            random: seed.max(1),
            to: BTreeMap::new(),
        })))
    }

    /// Datagrams to `dest` take `delay`, and up to `jitter` longer.
    pub fn set_delay(&self, dest: SocketAddr, delay: Span, jitter: Span) {
        let mut links = self.lock();
        let link = links.to.entry(dest).or_default();
        (link.delay, link.jitter) = (delay, jitter);
    }

    /// So many of a thousand datagrams to `dest` are lost.
    pub fn set_loss(&self, dest: SocketAddr, permille: u64) {
        self.lock().to.entry(dest).or_default().loss_permille = permille;
    }

    /// Nothing reaches `dest` any more, not even what is on its way.
    pub fn cut(&self, dest: SocketAddr) {
        self.lock().to.entry(dest).or_default().cut = true;
    }

    /// What is sent to `dest` from now on reaches it again.
    pub fn heal(&self, dest: SocketAddr) {
        self.lock().to.entry(dest).or_default().cut = false;
    }

    /// How long a datagram to `dest` takes; none: it is lost.
    fn draw(&self, dest: SocketAddr) -> Option<Span> {
        let mut links = self.lock();
        let link = links.to.get(&dest).copied().unwrap_or_default();
        if link.cut || link.loss_permille > 0 && links.next_random() % 1_000 < link.loss_permille {
            return None;
        }
        if link.jitter == Span::ZERO {
            return Some(link.delay);
        }
        let jitter = links.next_random() % link.jitter.as_micros().saturating_add(1).max(1);
        Some(link.delay.plus(Span::from_micros(jitter)))
    }

    fn is_cut(&self, dest: SocketAddr) -> bool {
        self.lock().to.get(&dest).is_some_and(|link| link.cut)
    }

    fn lock(&self) -> MutexGuard<'_, Links> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Links {
    /// Marsaglia's xorshift.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// A UDP socket whose outgoing datagrams travel over [`WanLinks`].
pub struct WanSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    links: WanLinks,
    clock: Clock,
    departures: mpsc::Sender<Datagram>,
}

impl fmt::Debug for WanSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WanSocket")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl WanSocket {
    /// Puts `links` in front of `inner`. Runs a task on the current runtime until the socket is dropped.
    pub fn wrap(inner: Arc<dyn AsyncUdpSocket>, links: WanLinks) -> Arc<Self> {
        let clock = Clock::start();
        let (departures, on_the_way) = mpsc::channel(ON_THE_WAY_MAX);
        let road = Road {
            inner: inner.clone(),
            links: links.clone(),
            clock,
        };
        tokio::spawn(road.run(on_the_way));
        Arc::new(Self {
            inner,
            links,
            clock,
            departures,
        })
    }
}

impl AsyncUdpSocket for WanSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysWritable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // One datagram each, since `max_transmit_segments` is one.
        if let Some(delay) = self.links.draw(transmit.destination) {
            // A full link loses.
            let _lost = self.departures.try_send(Datagram {
                due: self.clock.mono().plus(delay),
                destination: transmit.destination,
                ecn: transmit.ecn,
                contents: transmit.contents.to_vec(),
            });
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// A WAN takes everything, and loses what it cannot carry.
#[derive(Debug)]
struct AlwaysWritable;

impl UdpPoller for AlwaysWritable {
    fn poll_writable(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A datagram on its way.
#[derive(Debug)]
struct Datagram {
    due: MonoTime,
    destination: SocketAddr,
    ecn: Option<EcnCodepoint>,
    contents: Vec<u8>,
}

/// A datagram in the queue: the one that is due first is the greatest, and of two, the one sent first.
struct Queued {
    number: u64,
    datagram: Datagram,
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.datagram.due, other.number).cmp(&(self.datagram.due, self.number))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Queued {}

/// Carries datagrams until they are due.
struct Road {
    inner: Arc<dyn AsyncUdpSocket>,
    links: WanLinks,
    clock: Clock,
}

impl Road {
    async fn run(self, mut departures: mpsc::Receiver<Datagram>) {
        let mut queue = BinaryHeap::<Queued>::new();
        let mut poller = self.inner.clone().create_io_poller();
        let mut numbers = 0_u64..;
        loop {
            let due = queue
                .peek()
                .map(|next| self.clock.instant(next.datagram.due));
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                departed = departures.recv() => {
                    let Some(datagram) = departed else { return };
                    if queue.len() < ON_THE_WAY_MAX {
                        let number = numbers.next().unwrap_or_default();
                        queue.push(Queued { number, datagram });
                    }
                }
                () = wait => {
                    if let Some(next) = queue.pop() {
                        self.arrive(&next.datagram, poller.as_mut()).await;
                    }
                }
            }
        }
    }

    async fn arrive(&self, datagram: &Datagram, mut poller: Pin<&mut dyn UdpPoller>) {
        if self.links.is_cut(datagram.destination) {
            return;
        }
        let transmit = Transmit {
            destination: datagram.destination,
            ecn: datagram.ecn,
            contents: &datagram.contents,
            segment_size: None,
            src_ip: None,
        };
        while let Err(error) = self.inner.try_send(&transmit) {
            // Whatever else happens to a datagram, it is lost.
            let full = error.kind() == ErrorKind::WouldBlock;
            if !full
                || poll_fn(|cx| poller.as_mut().poll_writable(cx))
                    .await
                    .is_err()
            {
                return;
            }
        }
    }
}
