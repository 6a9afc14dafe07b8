//! An uplink with classes: what is of which, by their counters.

use super::*;

/// Of the home, the background, and what goes first.
const CLASSES: [&str; 3] = ["627:1", "627:2", "627:3"];

/// By how much each class has grown.
fn grown(net: &Net, ap: usize, before: [u64; 3]) -> [u64; 3] {
    let now = CLASSES.map(|c| class(net, ap, c));
    [0, 1, 2].map(|i| now[i] - before[i])
}

/// A download of an access point's own: its bytes.
fn download(net: &Net, ap: usize) -> u64 {
    let at: SocketAddr = format!("10.1{ap}.0.1:7100").parse().unwrap();
    let listener = net.gateway.run(|| TcpListener::bind(at)).unwrap().unwrap();
    let stream = net.aps[ap].run(|| TcpStream::connect_timeout(&at, PATIENCE)).unwrap().unwrap();
    let (mut into, _) = listener.accept().unwrap();
    let there = std::thread::spawn(move || {
        into.write_all(&[7; 1_000_000]).unwrap();
        into.shutdown(Shutdown::Write).unwrap();
        into.read(&mut [0]).ok()
    });
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (all, error) = read_all(stream, &AtomicUsize::new(0));
    assert_eq!((all.len(), error), (1_000_000, None));
    there.join().unwrap();
    all.len() as u64
}

/// Bytes that a class of an access point's uplink has sent.
fn class(net: &Net, ap: usize, class: &str) -> u64 {
    let text = net.aps[ap].shell("tc -s class show dev wan0").unwrap();
    let (_, rest) = text.split_once(&format!("class htb {class} ")).unwrap();
    let word = rest.split_whitespace().skip_while(|w| *w != "Sent").nth(1).unwrap();
    word.parse().unwrap()
}

#[test]
fn what_is_carried_for_others_is_the_background_of_an_uplink() {
    if !root() {
        return;
    }
    let net = net("bunch-classes");
    let _gateway = net.start_gateway();
    let state_of = || net.aps[1].shell("tc qdisc show dev wan0; nft list tables").unwrap();
    let clean = state_of();
    let _home = net.start_ap(0);
    let state = net.states.of(APS[1]);
    let args = ["bunch", "ap", &net.tokens[1], "--state", &state, "--share", "mesh0", "--uplink", "wan0"];
    let mut anna = net.aps[1].start(BINARY, args.into_iter().chain(["--uplink-rate", "3.8"])).unwrap();
    anna.wait_for_line("access point ready", SOON).unwrap();
    eventually("neighbours know each other", || net.status("home")["neighbours"] == 1);
    assert!(net.upload(2_000_000).ends());
    assert!(Ping::new("10.11.0.1".parse().unwrap()).count(3).run(&net.aps[1]).unwrap().received > 0);
    let [own, background] = ["627:1", "627:2"].map(|c| class(&net, 1, c));
    println!("own {own}, background {background}");
    assert!(background > 500_000 && (3 * 84..20_000).contains(&own), "{own} {background}");
    // The home's acknowledgements of a download go first, though they are many.
    let before = CLASSES.map(|c| class(&net, 1, c));
    let bytes = download(&net, 1);
    let [own, _, first] = grown(&net, 1, before);
    assert!(first > 4_000 && own < 5_000, "{own} {first} of {bytes}");
    // And so does what asks for it, while the null case is of the class between, and CS1 is last.
    for (dscp, index) in [(46, 2), (0, 0), (8, 1)] {
        let before = CLASSES.map(|c| class(&net, 1, c));
        net.aps[1].shell(&format!("ping -Q {} -s 1000 -c 10 -i 0.2 10.11.0.1", dscp << 2)).unwrap();
        let grown = grown(&net, 1, before);
        assert!(grown[index] > 10_000, "{dscp}: {grown:?}");
        assert!((0..3).all(|other| other == index || grown[other] < 5_000), "{dscp}: {grown:?}");
    }
    anna.signal(Signal::TERM).unwrap();
    assert!(anna.wait(SOON).unwrap().success());
    assert_eq!(state_of(), clean);
}

#[test]
fn what_a_home_uploads_by_its_own_tunnel_is_no_background() {
    if !root() {
        return;
    }
    let net = net("bunch-own");
    let _gateway = net.start_gateway();
    let state = net.states.of(APS[0]);
    let args = ["bunch", "ap", &net.tokens[0], "--state", &state, "--share", "mesh0", "--uplink", "wan0"];
    let more = ["--home", "lan0", "--uplink-rate", "3.8"];
    let mut home = net.aps[0].start(BINARY, args.into_iter().chain(more)).unwrap();
    home.wait_for_line("access point ready", SOON).unwrap();
    let before = CLASSES.map(|c| class(&net, 0, c));
    assert!(net.upload(1_000_000).ends());
    let [own, background, _] = grown(&net, 0, before);
    assert!(own > 900_000 && background < 200_000, "{own} {background}");
    // While it carries nothing of the home, it is the background again.
    let before = CLASSES.map(|c| class(&net, 0, c));
    in_time("signs of life are of the last class", || {
        let [own, background, _] = grown(&net, 0, before);
        background > 500 && background > own
    });
}
