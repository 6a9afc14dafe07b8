//! The commands of docs/guide/web.md, in their order, each as it stands there, beside a client. Needs
//! root; without it the test passes and says so.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use crate::common::listed::{commands, text};
use crate::common::page::{blocks, run, shell, start};
use crate::common::{States, invite, lab, root, serve, up};
use ropewalk_lab::Namespace;

const PAGE: &str = "web.md";
/// Where the page is, unless somebody says otherwise, and where the guide has its socket.
const AT: &str = "127.0.0.1:4580";
const SOCKET: &str = "/run/user/1000/ropewalk.sock";

/// How the server answers a browser that asks for the page.
fn answer(mut stream: impl Read + Write) -> String {
    let request = format!("GET / HTTP/1.1\r\nHost: {AT}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guide-web"));
    let _gateway = serve(&lab, &states, &[]);
    let _client = up(&lab, &states, &invite(&states, "alice"), &[]);
    let (state, socket) = (states.of("client"), states.of("page.sock"));
    let link = format!("http://{AT}/#");
    // The first command stands with what it prints.
    let shown = &blocks(PAGE, "text")[0];
    let (first, printed) = shown.strip_prefix("$ ").unwrap().split_once('\n').unwrap();
    assert!(printed.starts_with(&link), "{printed}");
    let mut page = start(&lab.client, &first.replace("DIR", &state), &link);
    assert_eq!(lab.client.run(|| answer(TcpStream::connect(AT).unwrap())).unwrap(), "HTTP/1.1 200 OK");
    let (mut at, mut links) = (AT, 0);
    for command in commands(PAGE) {
        let line = command.replace("DIR", &state).replace(SOCKET, &socket);
        if command == first {
            // It runs already.
            continue;
        } else if let Some(forward) = command.strip_prefix("ssh -L ") {
            // No machine is asked, but the page is where the other end leads.
            assert_eq!(forward, format!("4580:{at} HOST"));
        } else if command.contains(" --link ") {
            let said = run(&lab.client, &line);
            assert!(said.starts_with(&link) && said.lines().count() == 1, "{said}");
            links += 1;
        } else if command.contains(" --socket ") {
            page.stop();
            page = start(&lab.client, &line, &link);
            assert_eq!(answer(UnixStream::connect(&socket).unwrap()), "HTTP/1.1 200 OK");
            at = SOCKET;
        } else {
            panic!("no rule for {command:?}: say what it does");
        }
    }
    assert_eq!((at, links), (SOCKET, 1));
}

/// What a command says that fails.
fn complaint(at: &Namespace, command: &str) -> String {
    let out = at.command("sh").args(shell(command)).output().unwrap();
    assert!(!out.status.success(), "{command}");
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn what_it_says_that_does_not_open_stands_in_the_table() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guide-web-table"));
    let _gateway = serve(&lab, &states, &[]);
    let _client = up(&lab, &states, &invite(&states, "alice"), &[]);
    let web = format!("ropewalk web --state {}", states.of("client"));
    let says = |command: &str, words: &str| {
        assert!(text(PAGE).contains(words), "{words}");
        // The page leaves out what differs.
        let said = complaint(&lab.client, command);
        assert!(words.split('…').all(|part| said.contains(part.trim())), "{words}: {said}");
    };
    says(&format!("{web} --link"), "no page of … is served");
    let mut page = start(&lab.client, &web, AT);
    says(&web, "another `ropewalk web` serves the page");
    page.stop();
    let _other = lab.client.run(|| TcpListener::bind(AT)).unwrap().unwrap();
    says(&web, "the page cannot be served at …");
    // What the table says to do.
    assert!(text(PAGE).contains("`--listen 127.0.0.1:4581`"));
    start(&lab.client, &format!("{web} --listen 127.0.0.1:4581"), "http://127.0.0.1:4581/#").stop();
}
