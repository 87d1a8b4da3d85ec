//! `test-cluster stop`: ends the cluster that the tests share.

fn main() {
    assert_eq!(std::env::args().nth(1).as_deref(), Some("stop"), "usage: test-cluster stop");
    chancery_testkit::TestCluster::open().stop();
}
