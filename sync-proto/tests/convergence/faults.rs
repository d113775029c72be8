//! Loss, doubling, reordering, cuts and restarts at random: nothing is counted twice on the way, and nothing is missing in the end.

use sync_proto::{Epoch, Push, Span, WindowId};

use crate::HEALED;
use crate::mesh_pair::{BUSY, Link, MeshRing, name};

#[test]
fn after_any_faults_all_views_are_the_truth_two_ticks_after_the_network_heals() {
    for seed in 1..=40 {
        let faulty = Link {
            delay: Span::from_millis(20),
            jitter: Span::from_millis(400),
            lost_percent: 30,
            doubled_percent: 30,
        };
        let mut ring = MeshRing::new(&["mumbai", "singapore", "sydney"], faulty, seed);
        let keys: Vec<_> = (0..8).map(|key| name(&format!("api/{key}"))).collect();
        for step in 0..200_u64 {
            let (node, key) = (ring.draw(3) as usize, ring.draw(8) as usize);
            let window = 10 + step / 80;
            let (units, busy) = (1 + ring.draw(9), ring.draw(3) > 0);
            let tolerance = 1 + ring.draw(30);
            let epoch = Epoch(ring.draw(40) / 39 + window);
            let cell = (WindowId(window), epoch);
            ring.count_in_epoch(node, &keys[key], cell, units, Push { busy, tolerance });
            match ring.draw(60) {
                0 => ring.cut(node, (node + 1) % 3),
                1 => ring.heal(),
                2 => {
                    ring.restart(node);
                    ring.record_again(node);
                }
                _ => {}
            }
            let pause = ring.draw(200);
            ring.run(Span::from_millis(pause));
        }
        ring.heal();
        ring.link = Link::steady(20);
        // Pods report what is in use; a counter that was never busy since a restart need not travel.
        (0..3).for_each(|node| ring.record_again(node));
        ring.run(Span::from_millis(400));
        ring.run(HEALED);
        for key in &keys {
            for window in [11, 12] {
                for node in 0..3 {
                    let (known, truth) = (ring.known(node, key, window), ring.truth(key, window));
                    assert_eq!(
                        known, truth,
                        "seed {seed}, node {node}, {key:?}, window {window}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_train_of_several_pieces_is_acknowledged_only_when_every_piece_came() {
    for seed in 1..=12 {
        let faulty = Link {
            delay: Span::from_millis(20),
            jitter: Span::from_millis(90),
            lost_percent: 40,
            doubled_percent: 20,
        };
        let mut ring = MeshRing::new(&["mumbai", "singapore"], faulty, seed);
        // Long names make every train that tells them longer than a frame.
        let keys: Vec<_> = (0..300).map(|key| name(&format!("{key:0500}"))).collect();
        for step in 0..60_u64 {
            for _ in 0..30 {
                let key = ring.draw(300) as usize;
                let window = 10 + (step + ring.draw(10)) / 35;
                ring.count(0, &keys[key], window, 1, BUSY);
            }
            if step == 40 {
                ring.restart(1);
            }
            let pause = ring.draw(600);
            ring.run(Span::from_millis(pause));
        }
        ring.link = Link::steady(20);
        ring.run(Span::from_millis(400));
        ring.run(HEALED);
        assert_eq!(ring.status(0, 1).unwrap().pending, 0, "seed {seed}");
        for (key, window) in keys.iter().flat_map(|key| [(key, 10), (key, 11)]) {
            let (known, truth) = (ring.known(1, key, window), ring.truth(key, window));
            assert_eq!(known, truth, "seed {seed}, {key:?}, window {window}");
        }
    }
}
