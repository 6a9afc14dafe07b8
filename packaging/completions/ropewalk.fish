# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ropewalk_global_optspecs
    string join \n h/help V/version
end

function __fish_ropewalk_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ropewalk_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ropewalk_using_subcommand
    set -l cmd (__fish_ropewalk_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ropewalk -n "__fish_ropewalk_needs_command" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -s V -l version -d 'Print version'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "setup" -d 'Set up a gateway or a client on this machine, step by step'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "invite" -d 'Create a token that lets one device in'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "up" -d 'Connect this machine to a gateway over all of its links'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "status" -d 'Show the state of the running bond'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "web" -d 'Serve a page that shows the running bond, and changes it'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "path" -d 'Add, remove or change paths of the running bond'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "doctor" -d 'Check this machine and its bond, and say what to mend'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "serve" -d 'Run a gateway'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "clients" -d 'List the devices that may come in'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "revoke" -d 'Remove a device: end its session and keep it out'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "forward" -d 'Forward ports of the gateway to a device'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "group" -d 'Let devices of a group reach each other'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "limit" -d 'Cap a device\'s rates, or set its share of a full line'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "exit" -d 'Let a device\'s traffic leave the gateway by an interface of its own'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "quota" -d 'Give devices a quota of data for a month or a day'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "audit" -d 'Show who did what at a gateway, and who came and went'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "drain" -d 'Send a gateway\'s clients to the other gateways, and take none'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "flows" -d 'List connections by their rates, and whose they are'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "top" -d 'Watch the running bond live'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "restore" -d 'Restore routes, firewall and settings after a crash'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "check" -d 'Check a configuration file'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "ap" -d 'Run an access point with two radios'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "repeater" -d 'Run a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "roam" -d 'Connect to several access points at once'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "link" -d 'Show queues, completions and stations of interfaces'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "bunch" -d 'Upload over the neighbours\' uplinks, too'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "pep" -d 'Split or repair TCP connections that this router forwards'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "mptcp" -d 'Manage congestion control of the kernel\'s MPTCP'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "probe" -d 'Measure a path and find what limits it'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "sim" -d 'Simulate a scenario in virtual time'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "lab" -d 'Run a scenario live, in network namespaces'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "compare" -d 'Compare two or three reports of a scenario'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "reproduce" -d 'Run the scenarios of a paper and compare with its figures'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "man" -d 'Write the manual pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "reference" -d 'Write the reference pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and not __fish_seen_subcommand_from gateway client undo help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and not __fish_seen_subcommand_from gateway client undo help" -f -a "gateway" -d 'Set up a gateway on this machine and create its first token'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and not __fish_seen_subcommand_from gateway client undo help" -f -a "client" -d 'Set up this machine as a client of a gateway'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and not __fish_seen_subcommand_from gateway client undo help" -f -a "undo" -d 'Undo what `setup` did, and nothing else; or nothing, where something stands against it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and not __fish_seen_subcommand_from gateway client undo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l name -d 'Name of the setup: its files are /etc/ropewalk/NAME.toml and /var/lib/ropewalk/NAME' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l service -d 'Start by systemd, and with the machine [default: yes where systemd runs]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l root -d 'Work below this directory instead of / (for images and tests)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l port -d 'UDP port to listen on [default: 4500, or the next that is free]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l endpoint -d 'Address or name of this machine from outside [default: its first public address]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l tls -d 'Offer TLS on TCP port 443 too, for devices in networks that block UDP [default: no]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l address -d 'Inner address of the gateway, with the network of its clients [default: 10.77.0.1/24, or one that is free]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l masquerade -d 'Let clients reach the internet through this gateway [default: yes where nftables is]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l open-firewall -d 'Open the port in the firewall (ufw, firewalld) [default: no, the command is printed]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -l device -d 'Name of the first device to invite' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -s y -l yes -d 'Ask nothing: take the default wherever no option answers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from gateway" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l name -d 'Name of the setup: its files are /etc/ropewalk/NAME.toml and /var/lib/ropewalk/NAME' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l service -d 'Start by systemd, and with the machine [default: yes where systemd runs]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l root -d 'Work below this directory instead of / (for images and tests)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l token-file -d 'Read the token from this file, or with `-` from standard input [default: it is asked for]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l path -d 'Use only this interface; give it again for more [default: every usable interface]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l full-tunnel -d 'Send everything through the bond [default: no, only the gateway\'s network]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l route -d 'Route this network through the bond; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l kill-switch -d 'Block all traffic outside the bond until the client is stopped; needs a full tunnel [default: no]' -r -f -a "yes\t'Do it'
no\t'Do not'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l dns -d 'Use this name server through the bond; give it again for more [default: none]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l dns-domain -d 'Ask these name servers only about this domain, such as corp.example; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -l from-wg -d 'Take routes, name servers, MTU and keepalive from this file of wg-quick' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -s y -l yes -d 'Ask nothing: take the default wherever no option answers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from client" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from undo" -l root -d 'The directory that was given to `setup`' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from undo" -l all -d 'Also remove files that were changed since, and the state directory if devices have been invited or connected since'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from help" -f -a "gateway" -d 'Set up a gateway on this machine and create its first token'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from help" -f -a "client" -d 'Set up this machine as a client of a gateway'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from help" -f -a "undo" -d 'Undo what `setup` did, and nothing else; or nothing, where something stands against it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand setup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l endpoint -d 'Outside address of the gateway; give it again for more [default: the addresses it listens on]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l qr -d 'Print the token as a QR code, too'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l state -d 'State directory (keys, token, clients); created if missing' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l tun -d 'Network device name [default: the first free of rw0, rw1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l path -d 'Use this interface, to this endpoint if one is given; give it again for more [default: every usable interface]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l route -d 'Route this network through the bond; 0.0.0.0/0 and ::/0 route everything; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l dns -d 'Use this name server through the bond; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l dns-domain -d 'Ask these name servers only about this domain, such as corp.example; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l from-wg -d 'Take routes, name servers, MTU and keepalive from this file of wg-quick, beside those of --route and --dns' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l lan -d 'Give the hosts at this interface global IPv6 addresses, of the network that the gateway gives (`ropewalk serve --delegate`)' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l tls -d 'When to go by TLS on TCP, which works where UDP does not [default: auto]' -r -f -a "auto\t'Where UDP is not answered, and until it is'
off\t'Never'
only\t'Always, and by UDP never'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l hooks -d 'Run the programs of this directory when paths and the connection come and go' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l timeout -d 'Give up if there is no connection after this long' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l kill-switch -d 'Block all traffic outside the bond until the client is stopped; needs --route 0.0.0.0/0. `ropewalk restore` unblocks after a crash'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l listen -d 'Address of the page, on this machine only' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l socket -d 'Serve the page at this unix socket instead, which only this user can open' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l no-link -d 'Print no link when the page starts, for a service whose output goes into a log'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l link -d 'Print a link to the page that runs with this state directory, and serve none'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -f -a "add" -d 'Add a path: an interface, or another endpoint by it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -f -a "remove" -d 'Remove a path until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -f -a "set" -d 'Set what a path is used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -f -a "reset" -d 'Forget what was set for a path: the configuration counts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set reset help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l class -d 'active: always used; backup: while no other works; metered: until its cap is used up' -r -f -a "active\t'Always'
backup\t'While no other path works'
metered\t'Until its allowance is used up'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l cap -d 'What a metered path may carry in a month, both directions together, such as 10GB' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l reset-day -d 'The day of the month on which a new allowance begins' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l weight -d 'Its share under the weighted scheduler' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l class -d 'active: always used; backup: while no other works; metered: until its cap is used up' -r -f -a "active\t'Always'
backup\t'While no other path works'
metered\t'Until its allowance is used up'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l cap -d 'What a metered path may carry in a month, both directions together, such as 10GB' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l reset-day -d 'The day of the month on which a new allowance begins' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l weight -d 'Its share under the weighted scheduler' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from reset" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add a path: an interface, or another endpoint by it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a path until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "set" -d 'Set what a path is used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "reset" -d 'Forget what was set for a path: the configuration counts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand doctor" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand doctor" -l config -d 'Configuration file [default: /etc/ropewalk/NAME.toml for the state directory /var/lib/ropewalk/NAME]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand doctor" -l token-file -d 'Ask the gateway of this token, which is not used up; `-` reads standard input [default: the one that the state directory remembers]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand doctor" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l state -d 'State directory (keys, token, clients); created if missing' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l tun -d 'Network device name [default: the first free of rw0, rw1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l listen -d 'UDP address to listen on; give it again for more [default: 0.0.0.0:4500 and, with IPv6, [::]:4500]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l tls-listen -d 'TCP address to offer TLS at, for clients where UDP does not pass, such as 0.0.0.0:443; give it again for more [default: none]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l tls-cert -d 'Show the certificate of this PEM file there [default: one of the gateway\'s own]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l tls-key -d 'Its key' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l address -d 'Inner address of the gateway, with the network of its clients; once for IPv4, once for IPv6 [default: 10.77.0.1/24]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l proxy-ndp -d 'That network is on the link of this interface, not routed to this machine: answer neighbour solicitations for clients there' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l down-rate -d 'The rate that all clients together get at most, such as 450Mbit: a little less than the line carries. They share it, equally or as `ropewalk limit set --share` says [default: no bound, no shares]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l workers -d 'Threads that carry packets, each for a part of the clients [default: 1]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l hooks -d 'Run the programs of this directory when clients come and go, or have used their quota up' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l name -d 'Name of this gateway in its fleet [default: the machine\'s name]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l masquerade -d 'Let clients reach the internet through this gateway (nftables, forwarding)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l global6 -d 'The IPv6 network of --address is global: the world sees clients\' addresses there, and opens no connection to them but where `ropewalk forward` says so'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l delegate -d 'Give each client a /64 of the network of --global6 for the hosts behind it (`ropewalk up --lan`); that network has to be a /32 to /63 that is routed to this machine'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l client-to-client -d 'Let clients reach each other through the bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand clients" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and not __fish_seen_subcommand_from add remove list help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and not __fish_seen_subcommand_from add remove list help" -f -a "add" -d 'Forward a port of the gateway to a device'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and not __fish_seen_subcommand_from add remove list help" -f -a "remove" -d 'Stop forwarding a port'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and not __fish_seen_subcommand_from add remove list help" -f -a "list" -d 'List forwarded ports'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and not __fish_seen_subcommand_from add remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l to -d 'Port of the device [default: the same]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -l masquerade -d 'Show the device the gateway\'s inner address as the visitor\'s: needed where the device does not route everything through the bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from help" -f -a "add" -d 'Forward a port of the gateway to a device'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Stop forwarding a port'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from help" -f -a "list" -d 'List forwarded ports'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand forward; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and not __fish_seen_subcommand_from add remove list help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and not __fish_seen_subcommand_from add remove list help" -f -a "add" -d 'Add devices to a group, whose members reach each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and not __fish_seen_subcommand_from add remove list help" -f -a "remove" -d 'Remove devices from a group, or the group'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and not __fish_seen_subcommand_from add remove list help" -f -a "list" -d 'List groups'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and not __fish_seen_subcommand_from add remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add devices to a group, whose members reach each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove devices from a group, or the group'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from help" -f -a "list" -d 'List groups'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand group; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and not __fish_seen_subcommand_from set remove list help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and not __fish_seen_subcommand_from set remove list help" -f -a "set" -d 'Cap a device\'s rates, or set its share of a full line, in place of what is set'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and not __fish_seen_subcommand_from set remove list help" -f -a "remove" -d 'Remove a device\'s cap and share'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and not __fish_seen_subcommand_from set remove list help" -f -a "list" -d 'List caps and shares'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and not __fish_seen_subcommand_from set remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l down -d 'To the device, such as 20Mbit [default: no cap]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l up -d 'From the device, such as 5Mbit [default: no cap]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l share -d 'How much it gets of a full line (`serve --down-rate`), from 1 to 100 [default: 1]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from help" -f -a "set" -d 'Cap a device\'s rates, or set its share of a full line, in place of what is set'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a device\'s cap and share'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from help" -f -a "list" -d 'List caps and shares'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand limit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and not __fish_seen_subcommand_from set remove list help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and not __fish_seen_subcommand_from set remove list help" -f -a "set" -d 'Let all that a device sends to other networks leave by an interface, and by no other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and not __fish_seen_subcommand_from set remove list help" -f -a "remove" -d 'Let it leave as the gateway\'s own'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and not __fish_seen_subcommand_from set remove list help" -f -a "list" -d 'List exits'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and not __fish_seen_subcommand_from set remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l group -d 'The name is a group\'s: for its members without an exit of their own'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -l global6 -d 'The devices\' IPv6 network (`serve --global6`) is routed to the gateway by this interface: do not translate it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -l group -d 'The name is a group\'s'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from help" -f -a "set" -d 'Let all that a device sends to other networks leave by an interface, and by no other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Let it leave as the gateway\'s own'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from help" -f -a "list" -d 'List exits'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand exit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and not __fish_seen_subcommand_from set remove list help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and not __fish_seen_subcommand_from set remove list help" -f -a "set" -d 'Give a device a quota, in place of the one that it has'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and not __fish_seen_subcommand_from set remove list help" -f -a "remove" -d 'Remove a device\'s quota'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and not __fish_seen_subcommand_from set remove list help" -f -a "list" -d 'List quotas, and what is used of them'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and not __fish_seen_subcommand_from set remove list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l per -d 'In a month or a day of the calendar, in UTC' -r -f -a "month\t''
day\t''"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l then -d 'Slow it to this rate once that is used up, such as 1Mbit [default: stop it]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from help" -f -a "set" -d 'Give a device a quota, in place of the one that it has'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a device\'s quota'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from help" -f -a "list" -d 'List quotas, and what is used of them'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand quota; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand audit" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand audit" -l json -d 'Print JSON, one line for each entry'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand audit" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand drain" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand drain" -l off -d 'Take sessions again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand drain" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand flows" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand flows" -l limit -d 'Most connections to list: those with the highest rates' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand flows" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand flows" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l json -d 'Print JSON once; needs --store'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand restore" -l state -d 'State directory of the daemon [default: the only one in /var/lib/ropewalk]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand restore" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l state -d 'State directory (keys, token, clients); created if missing [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -f -a "invite" -d 'Create a token that lets one repeater in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l config -d 'The access point\'s file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l state -d 'State directory [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l endpoint -d 'Where the repeater reaches the access point; give it again for more [default: the addresses of its radios\' interfaces]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from help" -f -a "invite" -d 'Create a token that lets one repeater in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l state -d 'State directory (keys, token, clients); created if missing [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l lan -d 'The clients are on this cable: no radio is shared with them, nothing is limited' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l timeout -d 'Give up if there is no connection after this long' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l config -d 'Read settings from this TOML file, section [roam]; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l radio -d 'The radio, as `iw list` names it [default: the only one]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l interface -d 'A station interface of the radio, to listen with [default: its first]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l networks -d 'wpa_supplicant\'s file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l state -d 'State directory [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l monitor -d 'Measure packet times at this monitor interface; `auto` makes one on the radio' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -l hooks -d 'Run the programs of this directory when access points are joined, used and left' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -f -a "scan" -d 'Show which access points would be joined, and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -f -a "status" -d 'Show the state of the running `ropewalk roam`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -f -a "top" -d 'Watch the running `ropewalk roam` live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status top help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l config -d 'Read settings from this TOML file, section [roam]; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l radio -d 'The radio, as `iw list` names it [default: the only one]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l interface -d 'A station interface of the radio, to listen with [default: its first]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l networks -d 'wpa_supplicant\'s file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l state -d 'State directory [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -l state -d 'State directory [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from top" -l state -d 'State directory [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "scan" -d 'Show which access points would be joined, and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the state of the running `ropewalk roam`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "top" -d 'Watch the running `ropewalk roam` live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -l watch -d 'Repeat every second until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "invite" -d 'Create a token that lets one access point in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "status" -d 'Show the state of the running gateway or access point'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "top" -d 'Watch the running gateway or access point live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "accounts" -d 'Show what contributors carried, by records that both ends signed; prove such a record'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "harvest" -d 'See how much of an uplink nobody uses, and for how long'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "revoke" -d 'Remove an access point: end its tunnel and keep it out'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status top accounts harvest revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l state -d 'State directory (keys, token, clients); created if missing' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l listen -d 'TCP address at which access points find it' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l deliver -d 'Uploads leave by this interface only [default: as routes lead]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l serve -d 'Help uploads to this network; give it again for more [default: 0.0.0.0/0, which is all but private networks]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l address -d 'The gateway\'s address among its access points, with the network that their senders get addresses from' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l tun -d 'Name of the network device [default: the first free of bunch0, bunch1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l variant -d 'What is done for TCP' -r -f -a "plain\t'Nothing: packets go on as they come'
simple-buffer\t'They go on in order'
proactive-ack\t'They are acknowledged in the receiver\'s name when they are safe'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l custody -d 'proactive-ack: how many holders are enough where the home access point is not one' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l scheduling -d 'Who forwards a packet' -r -f -a "first-come\t'The first that reports it and whose send buffer has room'
expected-delivery\t'The one by which it is expected first'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l grace -d 'Acknowledged bytes that nobody has reset both ends after so many milliseconds' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l hooks -d 'Run the programs of this directory when access points come and go' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l store -d 'etcd of the fleet, where gateways share their clients' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l store-ca -d 'Certificates of who signs for etcd (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l store-cert -d 'Certificate that etcd asks for (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l store-key -d 'Its key (PEM)' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l name -d 'Name of this gateway in its fleet [default: the machine\'s name]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l udp -d 'Help UDP, too'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -l endpoint -d 'Outside address of the gateway; give it again for more [default: the addresses it listens on]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -l qr -d 'Print the token as a QR code, too'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l state -d 'State directory (keys, token, clients); created if missing' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l uplink -d 'Reach the gateway by this interface only [default: as routes lead]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l uplink-rate -d 'What the uplink carries, Mbit/s: the home\'s own traffic then goes before the tunnel\'s, which keeps half a megabit, or a quarter of the rate if that is less (HTB); with --uplink' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l cap -d 'What the uplink may carry for neighbours in a month, such as 10GB; with --uplink' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l reset-day -d 'The day of the month on which a new allowance begins [default: 1]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l home -d 'Help the uploads of devices at this interface' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l share -d 'The network of the neighbours: hand them the home\'s packets, and help with theirs' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l monitor -d 'Neighbours overhear instead: frames of stations are heard at this monitor interface. With --home it is one of the home\'s own radio' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l miss -d 'For experiments: leave out so many of 100 packets that a neighbour would be handed' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l release -d 'For experiments: when a packet is forgotten' -r -f -a "acknowledged\t'When the receiver has acknowledged it'
scheduled\t'When somebody is told to forward it, as the paper has it: acknowledged bytes are lost with the one who was told'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l tun -d 'Name of the network device [default: the first free of bunch0, bunch1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l memory -d 'Most bytes of packets to hold' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l send-buffer -d 'Most bytes on the way to the gateway' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l report-interval -d 'Milliseconds between reports' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l account-every -d 'Seconds between records of what was carried, which both ends sign' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l hooks -d 'Run the programs of this directory when the tunnel or neighbours come and go, or --cap is used up' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l watch -d 'Repeat every second until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from top" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from accounts" -l state -d 'State directory of the gateway or access point; it need not run' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from accounts" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from accounts" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from accounts" -f -a "verify" -d 'Prove records by the signatures alone; with files of both ends, find what one of them lacks'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from accounts" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from harvest" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from harvest" -f -a "record" -d 'Write down what an uplink carries, until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from harvest" -f -a "report" -d 'Show how much could have been shared, and for how long'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from harvest" -f -a "trace" -d 'Make a record up, to try the report on: no home was measured for it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from harvest" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from revoke" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "invite" -d 'Create a token that lets one access point in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the state of the running gateway or access point'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "top" -d 'Watch the running gateway or access point live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "accounts" -d 'Show what contributors carried, by records that both ends signed; prove such a record'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "harvest" -d 'See how much of an uplink nobody uses, and for how long'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Remove an access point: end its tunnel and keep it out'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l state -d 'State directory (keys, token, clients); created if missing' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l policy -d 'What to do for connections' -r -f -a "split\t'Acknowledge in the receiver\'s name what is here: two connections with a shorter round trip each'
snoop\t'Acknowledge nothing, and send again what is lost behind this machine'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l window -d 'Most kilobytes (1024 bytes) to keep of each direction of a connection' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l connections -d 'Most connections at once; what is too many passes as it came' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l tun -d 'Network device name [default: the first free of pep0, pep1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -l log-format -d 'Format of log lines' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -f -a "status" -d 'Show the state of the running `ropewalk pep`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and not __fish_seen_subcommand_from status help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and __fish_seen_subcommand_from status" -l state -d 'State directory of the daemon' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and __fish_seen_subcommand_from status" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the state of the running `ropewalk pep`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "load" -d 'Load controllers until `unload` or a reboot'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "status" -d 'List loaded controllers and their connections'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "unload" -d 'Unload controllers; open connections keep theirs'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from help" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l listen -d 'Where to listen, TCP and UDP [default: 0.0.0.0:4510]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l key -d 'The key that both ends share [default with --serve: a new one, which is printed]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l key-file -d 'Read the key from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l seconds -d 'How long each of the five tests takes, and the two of --mptcp, seconds' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l streams -d 'How many connections the tests with several have' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l window -d 'Give receivers of the tests a buffer of this size, such as 16KiB: what would a program with it get?' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l serve -d 'Be the other end: listen, and serve who knows the key'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l mptcp -d 'Test a connection of MPTCP each way, too: is it MPTCP or did it fall back to TCP, and by which subflows, congestion controller and scheduler?'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "run" -d 'Run a scenario once and print its results'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "sweep" -d 'Run a scenario at every point of its sweep'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "check" -d 'Check scenario files and count the runs of their sweeps'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l seeds -d 'Run it with so many seeds, from the scenario\'s or `--seed` on, and print the mean and standard error of each figure' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l out -d 'Write report.json, a file for each table, and charts into this directory; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l format -d 'Form of the tables\' files' -r -f -a "csv\t'A CSV file for each table'
parquet\t'A Parquet file for each table, with types and units, and one of what the runs were'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l pcap -d 'Write what an interface carries, or all that a radio hears, to NODE-NAME.pcap, in the output directory or here; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l jobs -d 'How many runs at once [default: one for each core]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l out -d 'Directory for results; made if it is not there [default: FILE without its ending, and -sweep]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l format -d 'Form of the tables\' files' -r -f -a "csv\t'A CSV file for each table'
parquet\t'A Parquet file for each table, with types and units, and one of what the runs were'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l resume -d 'Keep what is finished in the directory, and run the rest'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a scenario once and print its results'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Run a scenario at every point of its sweep'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check scenario files and count the runs of their sweeps'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "hwsim" -d 'Run a scenario\'s flows over the kernel\'s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "check" -d 'Check whether this machine can run scenario files live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "up" -d 'Start a lab and keep it running'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "down" -d 'Stop a lab'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "shell" -d 'Open a shell in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "exec" -d 'Run a program in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "map" -d 'Show where nodes are and which hear each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "set" -d 'Change a running lab: move a station, cut a link, set a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "radio" -d 'Show queues, completions, stations and channel of a node\'s radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "capture" -d 'Capture what a radio hears, as pcapng or by a monitor interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "machine" -d 'The first process of a machine in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run hwsim check up down shell exec map set top radio capture machine help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l out -d 'Write report.json, a CSV file for each table, and charts into this directory; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l kernel -d 'With `--virtual`: where the machine\'s kernel is, a directory with boot/vmlinuz-* and lib/modules [default: VM_ROOT, or /]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l strict -d 'Refuse a scenario that is too fast for this machine, instead of warning of it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l virtual -d 'Run it in virtual time: in an emulated machine with a kernel of its own, which a busy host makes slower and not wrong; needs QEMU and no root'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -l join -d 'Seconds for access points, and then stations, to come up; the report lists who joined nobody' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -l out -d 'Write report.json, a CSV file for each table, and charts into this directory; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -l json -d 'Print the report as JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from hwsim" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l name -d 'What to call the lab [default: the file\'s name without its ending]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l foreground -d 'Stay in the foreground until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l strict -d 'Refuse a scenario whose own flows are too fast for this machine, instead of warning of it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from down" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from down" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from shell" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from exec" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from exec" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from map" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from map" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from set" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from top" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l watch -d 'Repeat every second until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -s w -l write -d 'The file [default: standard output, for `| wireshark -k -i -`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -l device -d 'Instead of a file, a radiotap monitor interface of this name in the node, for `ropewalk lab exec NODE -- tcpdump -i NAME`; it is there until Ctrl-C, or until the lab ends' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from machine" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "hwsim" -d 'Run a scenario\'s flows over the kernel\'s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check whether this machine can run scenario files live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "up" -d 'Start a lab and keep it running'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "down" -d 'Stop a lab'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "shell" -d 'Open a shell in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "exec" -d 'Run a program in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "map" -d 'Show where nodes are and which hear each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "set" -d 'Change a running lab: move a station, cut a link, set a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "radio" -d 'Show queues, completions, stations and channel of a node\'s radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "capture" -d 'Capture what a radio hears, as pcapng or by a monitor interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "machine" -d 'The first process of a machine in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand compare" -l all -d 'Show also figures that no band is about'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand compare" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l kernel -d 'With `--virtual`: where the machine\'s kernel is, a directory with boot/vmlinuz-* and lib/modules [default: VM_ROOT, or /]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l out -d 'Directory for the page and its charts; made if it is not there [default: docs/papers beside `scenarios`, or here]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l runs -d 'Directory for finished runs [default: reproduce-PAPER]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l sim -d 'Run the scenarios in the simulator (if neither is said, this)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l lab -d 'Run the scenarios in the live lab'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l both -d 'Run the scenarios in both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l virtual -d 'Run the scenarios on a kernel in virtual time, too or alone, as `ropewalk lab run --virtual` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l quick -d 'Shorter runs, as the paper\'s file says: rough figures'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l resume -d 'Keep what is finished, and run the rest'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l check -d 'Run nothing: fail if the page that is there was made by another build or from other rows'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand man" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reference" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "setup" -d 'Set up a gateway or a client on this machine, step by step'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "invite" -d 'Create a token that lets one device in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "up" -d 'Connect this machine to a gateway over all of its links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "status" -d 'Show the state of the running bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "web" -d 'Serve a page that shows the running bond, and changes it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "path" -d 'Add, remove or change paths of the running bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "doctor" -d 'Check this machine and its bond, and say what to mend'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "serve" -d 'Run a gateway'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "clients" -d 'List the devices that may come in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "revoke" -d 'Remove a device: end its session and keep it out'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "forward" -d 'Forward ports of the gateway to a device'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "group" -d 'Let devices of a group reach each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "limit" -d 'Cap a device\'s rates, or set its share of a full line'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "exit" -d 'Let a device\'s traffic leave the gateway by an interface of its own'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "quota" -d 'Give devices a quota of data for a month or a day'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "audit" -d 'Show who did what at a gateway, and who came and went'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "drain" -d 'Send a gateway\'s clients to the other gateways, and take none'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "flows" -d 'List connections by their rates, and whose they are'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "top" -d 'Watch the running bond live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "restore" -d 'Restore routes, firewall and settings after a crash'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "check" -d 'Check a configuration file'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "ap" -d 'Run an access point with two radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "repeater" -d 'Run a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "roam" -d 'Connect to several access points at once'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "link" -d 'Show queues, completions and stations of interfaces'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "bunch" -d 'Upload over the neighbours\' uplinks, too'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "pep" -d 'Split or repair TCP connections that this router forwards'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "mptcp" -d 'Manage congestion control of the kernel\'s MPTCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "probe" -d 'Measure a path and find what limits it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "sim" -d 'Simulate a scenario in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "lab" -d 'Run a scenario live, in network namespaces'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "compare" -d 'Compare two or three reports of a scenario'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "reproduce" -d 'Run the scenarios of a paper and compare with its figures'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "completions" -d 'Print completions for a shell'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "reference" -d 'Write the reference pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from setup invite up status web path doctor serve clients revoke forward group limit exit quota audit drain flows top restore check ap repeater roam link bunch pep mptcp probe sim lab compare reproduce completions man reference help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from setup" -f -a "gateway" -d 'Set up a gateway on this machine and create its first token'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from setup" -f -a "client" -d 'Set up this machine as a client of a gateway'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from setup" -f -a "undo" -d 'Undo what `setup` did, and nothing else; or nothing, where something stands against it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "add" -d 'Add a path: an interface, or another endpoint by it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "remove" -d 'Remove a path until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "set" -d 'Set what a path is used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "reset" -d 'Forget what was set for a path: the configuration counts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from forward" -f -a "add" -d 'Forward a port of the gateway to a device'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from forward" -f -a "remove" -d 'Stop forwarding a port'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from forward" -f -a "list" -d 'List forwarded ports'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from group" -f -a "add" -d 'Add devices to a group, whose members reach each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from group" -f -a "remove" -d 'Remove devices from a group, or the group'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from group" -f -a "list" -d 'List groups'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from limit" -f -a "set" -d 'Cap a device\'s rates, or set its share of a full line, in place of what is set'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from limit" -f -a "remove" -d 'Remove a device\'s cap and share'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from limit" -f -a "list" -d 'List caps and shares'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from exit" -f -a "set" -d 'Let all that a device sends to other networks leave by an interface, and by no other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from exit" -f -a "remove" -d 'Let it leave as the gateway\'s own'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from exit" -f -a "list" -d 'List exits'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from quota" -f -a "set" -d 'Give a device a quota, in place of the one that it has'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from quota" -f -a "remove" -d 'Remove a device\'s quota'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from quota" -f -a "list" -d 'List quotas, and what is used of them'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from ap" -f -a "invite" -d 'Create a token that lets one repeater in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from roam" -f -a "scan" -d 'Show which access points would be joined, and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from roam" -f -a "status" -d 'Show the state of the running `ropewalk roam`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from roam" -f -a "top" -d 'Watch the running `ropewalk roam` live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "invite" -d 'Create a token that lets one access point in'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "status" -d 'Show the state of the running gateway or access point'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "top" -d 'Watch the running gateway or access point live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "accounts" -d 'Show what contributors carried, by records that both ends signed; prove such a record'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "harvest" -d 'See how much of an uplink nobody uses, and for how long'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "revoke" -d 'Remove an access point: end its tunnel and keep it out'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from pep" -f -a "status" -d 'Show the state of the running `ropewalk pep`'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from mptcp" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "run" -d 'Run a scenario once and print its results'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "sweep" -d 'Run a scenario at every point of its sweep'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "check" -d 'Check scenario files and count the runs of their sweeps'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "hwsim" -d 'Run a scenario\'s flows over the kernel\'s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "check" -d 'Check whether this machine can run scenario files live'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "up" -d 'Start a lab and keep it running'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "down" -d 'Stop a lab'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "shell" -d 'Open a shell in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "exec" -d 'Run a program in a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "map" -d 'Show where nodes are and which hear each other'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "set" -d 'Change a running lab: move a station, cut a link, set a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "radio" -d 'Show queues, completions, stations and channel of a node\'s radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "capture" -d 'Capture what a radio hears, as pcapng or by a monitor interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "machine" -d 'The first process of a machine in virtual time'
