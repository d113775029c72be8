//! Who finds whom, and who has left.

use super::{Input, Site, identity, new_authority, region, until, within};

fn sees(site: &Site, name: &str, alive: bool) -> bool {
    let members = site.members.borrow();
    members
        .iter()
        .any(|member| member.region == region(name) && member.alive == alive)
}

#[tokio::test]
async fn regions_that_share_a_seed_find_each_other() {
    let ca = new_authority("test").unwrap();
    let seed = Site::start(identity(&ca, "seed"), &[]);
    let mumbai = Site::start(identity(&ca, "mumbai"), &[&seed]);
    let delhi = Site::start(identity(&ca, "delhi"), &[&seed]);

    mumbai.until_reaches(&delhi).await;
    delhi.until_reaches(&mumbai).await;
    seed.until_reaches(&mumbai).await;
    for site in [&seed, &mumbai, &delhi] {
        for name in ["seed", "mumbai", "delhi"] {
            until(|| sees(site, name, true)).await;
        }
    }
}

#[tokio::test]
async fn a_region_that_says_farewell_is_told_as_left() {
    let ca = new_authority("test").unwrap();
    let mut delhi = Site::start(identity(&ca, "delhi"), &[]);
    let mumbai = Site::start(identity(&ca, "mumbai"), &[&delhi]);
    until(|| sees(&mumbai, "delhi", true) && sees(&delhi, "mumbai", true)).await;

    mumbai.leave().await;

    loop {
        if let Input::Left(left) = delhi.input().await {
            assert_eq!(left, region("mumbai"));
            break;
        }
    }
    assert!(!delhi.links.reaches(&region("mumbai")));
}

#[tokio::test]
async fn a_region_that_is_only_silent_has_not_left() {
    let ca = new_authority("test").unwrap();
    let mut delhi = Site::start(identity(&ca, "delhi"), &[]);
    let mumbai = Site::start(identity(&ca, "mumbai"), &[&delhi]);
    delhi.until_reaches(&mumbai).await;
    until(|| sees(&delhi, "mumbai", true)).await;

    mumbai.wan.cut(delhi.address);
    delhi.wan.cut(mumbai.address);
    until(|| sees(&delhi, "mumbai", false)).await;

    while let Ok(input) = delhi.inbox.try_recv() {
        assert!(!matches!(input, Input::Left(_)));
    }
    assert!(delhi.links.kept().contains(&region("mumbai")));
    drop(within(async { mumbai }).await);
}
