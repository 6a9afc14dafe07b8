#compdef ropewalk

autoload -U is-at-least

_ropewalk() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_ropewalk_commands" \
"*::: :->ropewalk" \
&& ret=0
    case $state in
    (ropewalk)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-command-$line[1]:"
        case $line[1] in
            (setup)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__setup_commands" \
"*::: :->setup" \
&& ret=0

    case $state in
    (setup)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-setup-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
'--name=[Name of the setup\: its files are /etc/ropewalk/NAME.toml and /var/lib/ropewalk/NAME]:NAME:_default' \
'--service=[Start by systemd, and with the machine \[default\: yes where systemd runs\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'--root=[Work below this directory instead of / (for images and tests)]:DIR:_files' \
'--port=[UDP port to listen on \[default\: 4500, or the next that is free\]]:PORT:_default' \
'--endpoint=[Address or name of this machine from outside \[default\: its first public address\]]:HOST[:PORT]:_default' \
'--tls=[Offer TLS on TCP port 443 too, for devices in networks that block UDP \[default\: no\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'--address=[Inner address of the gateway, with the network of its clients \[default\: 10.77.0.1/24, or one that is free\]]:CIDR:_default' \
'--masquerade=[Let clients reach the internet through this gateway \[default\: yes where nftables is\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'--open-firewall=[Open the port in the firewall (ufw, firewalld) \[default\: no, the command is printed\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'--device=[Name of the first device to invite]:NAME:_default' \
'-y[Ask nothing\: take the default wherever no option answers]' \
'--yes[Ask nothing\: take the default wherever no option answers]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(client)
_arguments "${_arguments_options[@]}" : \
'--name=[Name of the setup\: its files are /etc/ropewalk/NAME.toml and /var/lib/ropewalk/NAME]:NAME:_default' \
'--service=[Start by systemd, and with the machine \[default\: yes where systemd runs\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'--root=[Work below this directory instead of / (for images and tests)]:DIR:_files' \
'--token-file=[Read the token from this file, or with \`-\` from standard input \[default\: it is asked for\]]:FILE:_files' \
'*--path=[Use only this interface; give it again for more \[default\: every usable interface\]]:IFACE:_default' \
'(--route)--full-tunnel=[Send everything through the bond \[default\: no, only the gateway'\''s network\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'*--route=[Route this network through the bond; give it again for more]:CIDR:_default' \
'--kill-switch=[Block all traffic outside the bond until the client is stopped; needs a full tunnel \[default\: no\]]:ANSWER:((yes\:"Do it"
no\:"Do not"))' \
'*--dns=[Use this name server through the bond; give it again for more \[default\: none\]]:ADDR:_default' \
'*--dns-domain=[Ask these name servers only about this domain, such as corp.example; give it again for more]:DOMAIN:_default' \
'--from-wg=[Take routes, name servers, MTU and keepalive from this file of wg-quick]:FILE:_files' \
'-y[Ask nothing\: take the default wherever no option answers]' \
'--yes[Ask nothing\: take the default wherever no option answers]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'--root=[The directory that was given to \`setup\`]:DIR:_files' \
'--all[Also remove files that were changed since, and the state directory if devices have been invited or connected since]' \
'-h[Print help]' \
'--help[Print help]' \
'::name -- Name of the setup:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__setup__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-setup-help-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(client)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(invite)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'*--endpoint=[Outside address of the gateway; give it again for more \[default\: the addresses it listens on\]]:HOST:PORT:_default' \
'--qr[Print the token as a QR code, too]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name for the device:_default' \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
'()--token-file=[Read the token from this file]:FILE:_files' \
'--state=[State directory (keys, token, clients); created if missing]:DIR:_files' \
'--config=[Read settings from this TOML file; the command line goes before it]:FILE:_files' \
'--tun=[Network device name \[default\: the first free of rw0, rw1, …\]]:NAME:_default' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'*--path=[Use this interface, to this endpoint if one is given; give it again for more \[default\: every usable interface\]]:IFACE[@HOST:PORT]:_default' \
'*--route=[Route this network through the bond; 0.0.0.0/0 and \:\:/0 route everything; give it again for more]:CIDR:_default' \
'*--dns=[Use this name server through the bond; give it again for more]:ADDR:_default' \
'*--dns-domain=[Ask these name servers only about this domain, such as corp.example; give it again for more]:DOMAIN:_default' \
'--from-wg=[Take routes, name servers, MTU and keepalive from this file of wg-quick, beside those of --route and --dns]:FILE:_files' \
'--lan=[Give the hosts at this interface global IPv6 addresses, of the network that the gateway gives (\`ropewalk serve --delegate\`)]:IFACE:_default' \
'--tls=[When to go by TLS on TCP, which works where UDP does not \[default\: auto\]]:WHEN:((auto\:"Where UDP is not answered, and until it is"
off\:"Never"
only\:"Always, and by UDP never"))' \
'--hooks=[Run the programs of this directory when paths and the connection come and go]:DIR:_files' \
'--timeout=[Give up if there is no connection after this long]:SECS:_default' \
'--kill-switch[Block all traffic outside the bond until the client is stopped; needs --route 0.0.0.0/0. \`ropewalk restore\` unblocks after a crash]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::token -- What `ropewalk invite` printed; `-` reads it from standard input, where no list of processes shows it \[default\: the one used last with this state\]:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(web)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'--listen=[Address of the page, on this machine only]:ADDR:PORT:_default' \
'(--listen)--socket=[Serve the page at this unix socket instead, which only this user can open]:PATH:_files' \
'--no-link[Print no link when the page starts, for a service whose output goes into a log]' \
'(--listen --socket --no-link)--link[Print a link to the page that runs with this state directory, and serve none]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(path)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__path_commands" \
"*::: :->path" \
&& ret=0

    case $state in
    (path)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-path-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--class=[active\: always used; backup\: while no other works; metered\: until its cap is used up]:CLASS:((active\:"Always"
backup\:"While no other path works"
metered\:"Until its allowance is used up"))' \
'--cap=[What a metered path may carry in a month, both directions together, such as 10GB]:AMOUNT:_default' \
'--reset-day=[The day of the month on which a new allowance begins]:DAY:_default' \
'--weight=[Its share under the weighted scheduler]:N:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The path:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
':name -- The path; the interface is enough where only one path uses it:_default' \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--class=[active\: always used; backup\: while no other works; metered\: until its cap is used up]:CLASS:((active\:"Always"
backup\:"While no other path works"
metered\:"Until its allowance is used up"))' \
'--cap=[What a metered path may carry in a month, both directions together, such as 10GB]:AMOUNT:_default' \
'--reset-day=[The day of the month on which a new allowance begins]:DAY:_default' \
'--weight=[Its share under the weighted scheduler]:N:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The path; the interface is enough where only one path uses it:_default' \
&& ret=0
;;
(reset)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
':name -- The path; the interface is enough where only one path uses it:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__path__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-path-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reset)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--config=[Configuration file \[default\: /etc/ropewalk/NAME.toml for the state directory /var/lib/ropewalk/NAME\]]:FILE:_files' \
'--token-file=[Ask the gateway of this token, which is not used up; \`-\` reads standard input \[default\: the one that the state directory remembers\]]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory (keys, token, clients); created if missing]:DIR:_files' \
'--config=[Read settings from this TOML file; the command line goes before it]:FILE:_files' \
'--tun=[Network device name \[default\: the first free of rw0, rw1, …\]]:NAME:_default' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'*--listen=[UDP address to listen on; give it again for more \[default\: 0.0.0.0\:4500 and, with IPv6, \[\:\:\]\:4500\]]:ADDR:PORT:_default' \
'*--tls-listen=[TCP address to offer TLS at, for clients where UDP does not pass, such as 0.0.0.0\:443; give it again for more \[default\: none\]]:ADDR:PORT:_default' \
'--tls-cert=[Show the certificate of this PEM file there \[default\: one of the gateway'\''s own\]]:FILE:_files' \
'--tls-key=[Its key]:FILE:_files' \
'*--address=[Inner address of the gateway, with the network of its clients; once for IPv4, once for IPv6 \[default\: 10.77.0.1/24\]]:CIDR:_default' \
'--proxy-ndp=[That network is on the link of this interface, not routed to this machine\: answer neighbour solicitations for clients there]:IFACE:_default' \
'--down-rate=[The rate that all clients together get at most, such as 450Mbit\: a little less than the line carries. They share it, equally or as \`ropewalk limit set --share\` says \[default\: no bound, no shares\]]:RATE:_default' \
'--workers=[Threads that carry packets, each for a part of the clients \[default\: 1\]]:N:_default' \
'--hooks=[Run the programs of this directory when clients come and go, or have used their quota up]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--name=[Name of this gateway in its fleet \[default\: the machine'\''s name\]]:NAME:_default' \
'--masquerade[Let clients reach the internet through this gateway (nftables, forwarding)]' \
'--global6[The IPv6 network of --address is global\: the world sees clients'\'' addresses there, and opens no connection to them but where \`ropewalk forward\` says so]' \
'--delegate[Give each client a /64 of the network of --global6 for the hosts behind it (\`ropewalk up --lan\`); that network has to be a /32 to /63 that is routed to this machine]' \
'--client-to-client[Let clients reach each other through the bond]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(clients)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name of the device:_default' \
&& ret=0
;;
(forward)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__forward_commands" \
"*::: :->forward" \
&& ret=0

    case $state in
    (forward)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-forward-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'--to=[Port of the device \[default\: the same\]]:PORT:_default' \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--masquerade[Show the device the gateway'\''s inner address as the visitor'\''s\: needed where the device does not route everything through the bond]' \
'-h[Print help]' \
'--help[Print help]' \
':client -- Name of the device:_default' \
':protocol -- Protocol:(tcp udp)' \
':port -- Port of the gateway, at all of its addresses:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':protocol -- Protocol:(tcp udp)' \
':port -- Port of the gateway:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__forward__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-forward-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(group)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__group_commands" \
"*::: :->group" \
&& ret=0

    case $state in
    (group)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-group-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':group -- Name of the group; made if it is not there:_default' \
'*::clients -- Names of the devices:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':group -- Name of the group:_default' \
'*::clients -- Names of the devices \[default\: all, and the group\]:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__group__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-group-help-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(limit)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__limit_commands" \
"*::: :->limit" \
&& ret=0

    case $state in
    (limit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-limit-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
'--down=[To the device, such as 20Mbit \[default\: no cap\]]:RATE:_default' \
'--up=[From the device, such as 5Mbit \[default\: no cap\]]:RATE:_default' \
'--share=[How much it gets of a full line (\`serve --down-rate\`), from 1 to 100 \[default\: 1\]]:N:_default' \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':client -- Name of the device:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':client -- Name of the device:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__limit__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-limit-help-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(exit)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__exit_commands" \
"*::: :->exit" \
&& ret=0

    case $state in
    (exit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-exit-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--group[The name is a group'\''s\: for its members without an exit of their own]' \
'--global6[The devices'\'' IPv6 network (\`serve --global6\`) is routed to the gateway by this interface\: do not translate it]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name of the device:_default' \
':interface -- Interface of the gateway'\''s machine:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--group[The name is a group'\''s]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name of the device:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__exit__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-exit-help-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(quota)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__quota_commands" \
"*::: :->quota" \
&& ret=0

    case $state in
    (quota)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-quota-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
'--per=[In a month or a day of the calendar, in UTC]:PERIOD:(month day)' \
'--then=[Slow it to this rate once that is used up, such as 1Mbit \[default\: stop it\]]:RATE:_default' \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':client -- Name of the device:_default' \
':amount -- What it may use, both directions together, such as 100GB:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
':client -- Name of the device:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__quota__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-quota-help-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(audit)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--json[Print JSON, one line for each entry]' \
'-h[Print help]' \
'--help[Print help]' \
'::client -- Show only what is about this device:_default' \
&& ret=0
;;
(drain)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--off[Take sessions again]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(flows)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--limit=[Most connections to list\: those with the highest rates]:N:_default' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--json[Print JSON once; needs --store]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon \[default\: the only one in /var/lib/ropewalk\]]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
':file -- The file:_files' \
&& ret=0
;;
(ap)
_arguments "${_arguments_options[@]}" : \
'--config=[Read settings from this TOML file; the command line goes before it]:FILE:_files' \
'--state=[State directory (keys, token, clients); created if missing \[default\: the file'\''s \`state\`\]]:DIR:_files' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_ropewalk__subcmd__ap_commands" \
"*::: :->ap" \
&& ret=0

    case $state in
    (ap)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-ap-command-$line[1]:"
        case $line[1] in
            (invite)
_arguments "${_arguments_options[@]}" : \
'--config=[The access point'\''s file]:FILE:_files' \
'--state=[State directory \[default\: the file'\''s \`state\`\]]:DIR:_files' \
'*--endpoint=[Where the repeater reaches the access point; give it again for more \[default\: the addresses of its radios'\'' interfaces\]]:HOST:PORT:_default' \
'-h[Print help]' \
'--help[Print help]' \
':name -- What to call the repeater, as in \[\[ap.repeater\]\]:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__ap__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-ap-help-command-$line[1]:"
        case $line[1] in
            (invite)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(repeater)
_arguments "${_arguments_options[@]}" : \
'()--token-file=[Read the token from this file]:FILE:_files' \
'--config=[Read settings from this TOML file; the command line goes before it]:FILE:_files' \
'--state=[State directory (keys, token, clients); created if missing \[default\: the file'\''s \`state\`\]]:DIR:_files' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'--lan=[The clients are on this cable\: no radio is shared with them, nothing is limited]:IFACE:_default' \
'--timeout=[Give up if there is no connection after this long]:SECS:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::token -- What `ropewalk ap invite` printed; `-` reads it from standard input, where no list of processes shows it \[default\: the file'\''s, or the one used last with this state\]:_default' \
&& ret=0
;;
(roam)
_arguments "${_arguments_options[@]}" : \
'--config=[Read settings from this TOML file, section \[roam\]; the command line goes before it]:FILE:_files' \
'--radio=[The radio, as \`iw list\` names it \[default\: the only one\]]:PHY:_default' \
'--interface=[A station interface of the radio, to listen with \[default\: its first\]]:IFACE:_default' \
'--networks=[wpa_supplicant'\''s file with the networks to join \[default\: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there\]]:FILE:_files' \
'--state=[State directory \[default\: /run/ropewalk/roam\]]:DIR:_files' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--monitor=[Measure packet times at this monitor interface; \`auto\` makes one on the radio]:IFACE:_default' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'--hooks=[Run the programs of this directory when access points are joined, used and left]:DIR:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_ropewalk__subcmd__roam_commands" \
"*::: :->roam" \
&& ret=0

    case $state in
    (roam)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-roam-command-$line[1]:"
        case $line[1] in
            (scan)
_arguments "${_arguments_options[@]}" : \
'--config=[Read settings from this TOML file, section \[roam\]; the command line goes before it]:FILE:_files' \
'--radio=[The radio, as \`iw list\` names it \[default\: the only one\]]:PHY:_default' \
'--interface=[A station interface of the radio, to listen with \[default\: its first\]]:IFACE:_default' \
'--networks=[wpa_supplicant'\''s file with the networks to join \[default\: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there\]]:FILE:_files' \
'--state=[State directory \[default\: /run/ropewalk/roam\]]:DIR:_files' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--json[Print JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory \[default\: /run/ropewalk/roam\]]:DIR:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory \[default\: /run/ropewalk/roam\]]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__roam__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-roam-help-command-$line[1]:"
        case $line[1] in
            (scan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(link)
_arguments "${_arguments_options[@]}" : \
'--json[Print JSON\: one line, and with --watch one each second]' \
'--watch[Repeat every second until Ctrl-C]' \
'-h[Print help]' \
'--help[Print help]' \
'*::interfaces -- The interfaces \[default\: all that have something to say\]:_default' \
&& ret=0
;;
(bunch)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__bunch_commands" \
"*::: :->bunch" \
&& ret=0

    case $state in
    (bunch)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory (keys, token, clients); created if missing]:DIR:_files' \
'--listen=[TCP address at which access points find it]:ADDR:PORT:_default' \
'--deliver=[Uploads leave by this interface only \[default\: as routes lead\]]:IFACE:_default' \
'*--serve=[Help uploads to this network; give it again for more \[default\: 0.0.0.0/0, which is all but private networks\]]:CIDR:_default' \
'--address=[The gateway'\''s address among its access points, with the network that their senders get addresses from]:CIDR:_default' \
'--tun=[Name of the network device \[default\: the first free of bunch0, bunch1, …\]]:NAME:_default' \
'--variant=[What is done for TCP]:VARIANT:((plain\:"Nothing\: packets go on as they come"
simple-buffer\:"They go on in order"
proactive-ack\:"They are acknowledged in the receiver'\''s name when they are safe"))' \
'--custody=[proactive-ack\: how many holders are enough where the home access point is not one]:N:_default' \
'--scheduling=[Who forwards a packet]:SCHEDULING:((first-come\:"The first that reports it and whose send buffer has room"
expected-delivery\:"The one by which it is expected first"))' \
'--grace=[Acknowledged bytes that nobody has reset both ends after so many milliseconds]:MS:_default' \
'--hooks=[Run the programs of this directory when access points come and go]:DIR:_files' \
'--store=[etcd of the fleet, where gateways share their clients]:etcd://HOST:PORT[,…]/PREFIX:_default' \
'--store-ca=[Certificates of who signs for etcd (PEM)]:FILE:_files' \
'--store-cert=[Certificate that etcd asks for (PEM)]:FILE:_files' \
'--store-key=[Its key (PEM)]:FILE:_files' \
'--name=[Name of this gateway in its fleet \[default\: the machine'\''s name\]]:NAME:_default' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'--udp[Help UDP, too]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(invite)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'*--endpoint=[Outside address of the gateway; give it again for more \[default\: the addresses it listens on\]]:HOST:PORT:_default' \
'--qr[Print the token as a QR code, too]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name for the access point:_default' \
&& ret=0
;;
(ap)
_arguments "${_arguments_options[@]}" : \
'()--token-file=[Read the token from this file]:FILE:_files' \
'--state=[State directory (keys, token, clients); created if missing]:DIR:_files' \
'--uplink=[Reach the gateway by this interface only \[default\: as routes lead\]]:IFACE:_default' \
'--uplink-rate=[What the uplink carries, Mbit/s\: the home'\''s own traffic then goes before the tunnel'\''s, which keeps half a megabit, or a quarter of the rate if that is less (HTB); with --uplink]:MBPS:_default' \
'--cap=[What the uplink may carry for neighbours in a month, such as 10GB; with --uplink]:AMOUNT:_default' \
'--reset-day=[The day of the month on which a new allowance begins \[default\: 1\]]:DAY:_default' \
'--home=[Help the uploads of devices at this interface]:IFACE:_default' \
'--share=[The network of the neighbours\: hand them the home'\''s packets, and help with theirs]:IFACE:_default' \
'(--share)--monitor=[Neighbours overhear instead\: frames of stations are heard at this monitor interface. With --home it is one of the home'\''s own radio]:IFACE:_default' \
'--miss=[For experiments\: leave out so many of 100 packets that a neighbour would be handed]:PERCENT:_default' \
'--release=[For experiments\: when a packet is forgotten]:RELEASE:((acknowledged\:"When the receiver has acknowledged it"
scheduled\:"When somebody is told to forward it, as the paper has it\: acknowledged bytes are lost with the one who was told"))' \
'--tun=[Name of the network device \[default\: the first free of bunch0, bunch1, …\]]:NAME:_default' \
'--memory=[Most bytes of packets to hold]:AMOUNT:_default' \
'--send-buffer=[Most bytes on the way to the gateway]:AMOUNT:_default' \
'--report-interval=[Milliseconds between reports]:MS:_default' \
'--account-every=[Seconds between records of what was carried, which both ends sign]:SECONDS:_default' \
'--hooks=[Run the programs of this directory when the tunnel or neighbours come and go, or --cap is used up]:DIR:_files' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::token -- What `ropewalk bunch invite` printed; `-` reads it from standard input, where no list of processes shows it \[default\: the one used last with this state\]:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'--json[Print JSON\: one line, and with --watch one each second]' \
'--watch[Repeat every second until Ctrl-C]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(accounts)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the gateway or access point; it need not run]:DIR:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__bunch__subcmd__accounts_commands" \
"*::: :->accounts" \
&& ret=0

    case $state in
    (accounts)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-accounts-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
'--gateway=[The gateway has to have signed with this key]:KEY:_default' \
'--contributor=[The contributor has to have signed with this key]:KEY:_default' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- Files as `ropewalk bunch accounts` names them:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-accounts-help-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(harvest)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__bunch__subcmd__harvest_commands" \
"*::: :->harvest" \
&& ret=0

    case $state in
    (harvest)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-harvest-command-$line[1]:"
        case $line[1] in
            (record)
_arguments "${_arguments_options[@]}" : \
'--uplink=[The interface of the uplink]:IFACE:_default' \
'--uplink-rate=[What the uplink carries, Mbit/s]:MBPS:_default' \
'--out=[Directory for the record\: a Parquet file for each hour recorded; created if missing]:DIR:_files' \
'--every=[Seconds between two looks]:S:_default' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
'--hours=[Hours of the day that are looked at more closely, local time, both included]:FROM-TO:_default' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
':record -- The record'\''s directory:_files' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'--out=[Directory for the record; created if missing]:DIR:_files' \
'--days=[How many days]:N:_default' \
'--uplink-rate=[What the uplink carries, Mbit/s]:MBPS:_default' \
'--seed=[Another seed is another home]:SEED:_default' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-harvest-help-command-$line[1]:"
        case $line[1] in
            (record)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'-h[Print help]' \
'--help[Print help]' \
':name -- Name of the access point:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__bunch__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-help-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(invite)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(ap)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(accounts)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__bunch__subcmd__help__subcmd__accounts_commands" \
"*::: :->accounts" \
&& ret=0

    case $state in
    (accounts)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-help-accounts-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(harvest)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest_commands" \
"*::: :->harvest" \
&& ret=0

    case $state in
    (harvest)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-bunch-help-harvest-command-$line[1]:"
        case $line[1] in
            (record)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(pep)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory (keys, token, clients); created if missing]:DIR:_files' \
'--policy=[What to do for connections]:POLICY:((split\:"Acknowledge in the receiver'\''s name what is here\: two connections with a shorter round trip each"
snoop\:"Acknowledge nothing, and send again what is lost behind this machine"))' \
'--window=[Most kilobytes (1024 bytes) to keep of each direction of a connection]:KIB:_default' \
'--connections=[Most connections at once; what is too many passes as it came]:N:_default' \
'--tun=[Network device name \[default\: the first free of pep0, pep1, …\]]:NAME:_default' \
'--metrics=[Serve metrics for Prometheus by HTTP at this address]:ADDR:PORT:_default' \
'--log=[What to log\: error, warn, info, debug, trace, or a filter as in RUST_LOG]:LEVEL:_default' \
'--log-format=[Format of log lines]:FORMAT:((text\:"For people"
json\:"One JSON object per line"))' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_ropewalk__subcmd__pep_commands" \
"*::: :->pep" \
&& ret=0

    case $state in
    (pep)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-pep-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
'--state=[State directory of the daemon]:DIR:_files' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__pep__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-pep-help-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(mptcp)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__mptcp_commands" \
"*::: :->mptcp" \
&& ret=0

    case $state in
    (mptcp)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-mptcp-command-$line[1]:"
        case $line[1] in
            (cc)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__mptcp__subcmd__cc_commands" \
"*::: :->cc" \
&& ret=0

    case $state in
    (cc)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-mptcp-cc-command-$line[1]:"
        case $line[1] in
            (load)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Which; the kernel lists them as rw_lia, rw_olia, rw_balia, rw_hstcp:((lia\:"Linked increases, RFC 6356"
olia\:"Opportunistic linked increases"
balia\:"Balanced linked adaptation"
hstcp\:"HighSpeed TCP, RFC 3649; couples nothing"))' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(unload)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Which \[default\: all\]:((lia\:"Linked increases, RFC 6356"
olia\:"Opportunistic linked increases"
balia\:"Balanced linked adaptation"
hstcp\:"HighSpeed TCP, RFC 3649; couples nothing"))' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-mptcp-cc-help-command-$line[1]:"
        case $line[1] in
            (load)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(unload)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__mptcp__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-mptcp-help-command-$line[1]:"
        case $line[1] in
            (cc)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc_commands" \
"*::: :->cc" \
&& ret=0

    case $state in
    (cc)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-mptcp-help-cc-command-$line[1]:"
        case $line[1] in
            (load)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(unload)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(probe)
_arguments "${_arguments_options[@]}" : \
'--listen=[Where to listen, TCP and UDP \[default\: 0.0.0.0\:4510\]]:ADDR:PORT:_default' \
'--key=[The key that both ends share \[default with --serve\: a new one, which is printed\]]:KEY:_default' \
'(--key)--key-file=[Read the key from this file]:FILE:_files' \
'--seconds=[How long each of the five tests takes, and the two of --mptcp, seconds]:SECS:_default' \
'--streams=[How many connections the tests with several have]:N:_default' \
'--window=[Give receivers of the tests a buffer of this size, such as 16KiB\: what would a program with it get?]:SIZE:_default' \
'--serve[Be the other end\: listen, and serve who knows the key]' \
'(--serve)--mptcp[Test a connection of MPTCP each way, too\: is it MPTCP or did it fall back to TCP, and by which subflows, congestion controller and scheduler?]' \
'--json[Print JSON]' \
'-h[Print help]' \
'--help[Print help]' \
'::host -- The machine at the other end, where `ropewalk probe --serve` runs:_default' \
&& ret=0
;;
(sim)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__sim_commands" \
"*::: :->sim" \
&& ret=0

    case $state in
    (sim)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-sim-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
'--seed=[Seed of all chance, in place of the scenario'\''s]:N:_default' \
'*--set=[Set a key of the scenario, dotted, \`*\` for all of a kind\: medium.path-loss.exponent=2.5; give it again for more]:KEY=VALUE:_default' \
'(--out --format --pcap --json)--seeds=[Run it with so many seeds, from the scenario'\''s or \`--seed\` on, and print the mean and standard error of each figure]:N:_default' \
'--out=[Write report.json, a file for each table, and charts into this directory; made if it is not there]:DIR:_files' \
'--format=[Form of the tables'\'' files]:FORMAT:((csv\:"A CSV file for each table"
parquet\:"A Parquet file for each table, with types and units, and one of what the runs were"))' \
'*--pcap=[Write what an interface carries, or all that a radio hears, to NODE-NAME.pcap, in the output directory or here; give it again for more]:NODE:NAME:_default' \
'--json[Print the report as JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The scenario file (TOML):_files' \
&& ret=0
;;
(sweep)
_arguments "${_arguments_options[@]}" : \
'--seed=[Seed of all chance, in place of the scenario'\''s]:N:_default' \
'*--set=[Set a key of the scenario, dotted, \`*\` for all of a kind\: medium.path-loss.exponent=2.5; give it again for more]:KEY=VALUE:_default' \
'--jobs=[How many runs at once \[default\: one for each core\]]:N:_default' \
'--out=[Directory for results; made if it is not there \[default\: FILE without its ending, and -sweep\]]:DIR:_files' \
'--format=[Form of the tables'\'' files]:FORMAT:((csv\:"A CSV file for each table"
parquet\:"A Parquet file for each table, with types and units, and one of what the runs were"))' \
'--resume[Keep what is finished in the directory, and run the rest]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The scenario file (TOML):_files' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- The scenario files:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__sim__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-sim-help-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sweep)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(lab)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
":: :_ropewalk__subcmd__lab_commands" \
"*::: :->lab" \
&& ret=0

    case $state in
    (lab)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-lab-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
'--seed=[Seed of all chance, in place of the scenario'\''s]:N:_default' \
'*--set=[Set a key of the scenario, dotted, \`*\` for all of a kind\: medium.path-loss.exponent=2.5; give it again for more]:KEY=VALUE:_default' \
'--out=[Write report.json, a CSV file for each table, and charts into this directory; made if it is not there]:DIR:_files' \
'--kernel=[With \`--virtual\`\: where the machine'\''s kernel is, a directory with boot/vmlinuz-* and lib/modules \[default\: VM_ROOT, or /\]]:DIR:_files' \
'--json[Print the report as JSON]' \
'--strict[Refuse a scenario that is too fast for this machine, instead of warning of it]' \
'(--strict)--virtual[Run it in virtual time\: in an emulated machine with a kernel of its own, which a busy host makes slower and not wrong; needs QEMU and no root]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The scenario file (TOML):_files' \
&& ret=0
;;
(hwsim)
_arguments "${_arguments_options[@]}" : \
'--seed=[Seed of all chance, in place of the scenario'\''s]:N:_default' \
'*--set=[Set a key of the scenario, dotted, \`*\` for all of a kind\: medium.path-loss.exponent=2.5; give it again for more]:KEY=VALUE:_default' \
'--join=[Seconds for access points, and then stations, to come up; the report lists who joined nobody]:SECONDS:_default' \
'--out=[Write report.json, a CSV file for each table, and charts into this directory; made if it is not there]:DIR:_files' \
'--json[Print the report as JSON]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The scenario file (TOML):_files' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
'*::files -- The scenario files:_files' \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
'--seed=[Seed of all chance, in place of the scenario'\''s]:N:_default' \
'*--set=[Set a key of the scenario, dotted, \`*\` for all of a kind\: medium.path-loss.exponent=2.5; give it again for more]:KEY=VALUE:_default' \
'--name=[What to call the lab \[default\: the file'\''s name without its ending\]]:NAME:_default' \
'--foreground[Stay in the foreground until Ctrl-C]' \
'--strict[Refuse a scenario whose own flows are too fast for this machine, instead of warning of it]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The scenario file (TOML):_files' \
&& ret=0
;;
(down)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(shell)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
':node -- The node:_default' \
&& ret=0
;;
(exec)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
':node -- The node:_default' \
'*::words -- The program and its arguments:_default' \
&& ret=0
;;
(map)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':what -- What to change\: a node, `node\:radio`, `node\:interface`, a link, an interferer, or two radios with a comma between:_default' \
'*::changes -- How\: up, down, on, off, associate, disassociate, doze, awake, or KEY=VALUE with the keys of a scenario'\''s events:_default' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(radio)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'--json[Print JSON\: one line, and with --watch one each second]' \
'--watch[Repeat every second until Ctrl-C]' \
'-h[Print help]' \
'--help[Print help]' \
':node -- The node:_default' \
'::iface -- Its interface \[default\: all on air\]:_default' \
&& ret=0
;;
(capture)
_arguments "${_arguments_options[@]}" : \
'--lab=[The lab'\''s name; not needed if only one is up]:NAME:_default' \
'-w+[The file \[default\: standard output, for \`| wireshark -k -i -\`\]]:FILE:_files' \
'--write=[The file \[default\: standard output, for \`| wireshark -k -i -\`\]]:FILE:_files' \
'(-w --write)--device=[Instead of a file, a radiotap monitor interface of this name in the node, for \`ropewalk lab exec NODE -- tcpdump -i NAME\`; it is there until Ctrl-C, or until the lab ends]:NAME:_default' \
'-h[Print help]' \
'--help[Print help]' \
':node -- The node:_default' \
':iface -- Its interface, or its radio:_default' \
&& ret=0
;;
(machine)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__lab__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-lab-help-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(hwsim)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(down)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(shell)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(exec)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(map)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(radio)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(capture)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(machine)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'--all[Show also figures that no band is about]' \
'-h[Print help]' \
'--help[Print help]' \
':first -- The first report\: report.json, or the directory that `--out` wrote it to:_files' \
':second -- The second; it is judged by the bands that A'\''s scenario gives:_files' \
'::third -- A third, judged in the same way:_files' \
&& ret=0
;;
(reproduce)
_arguments "${_arguments_options[@]}" : \
'--kernel=[With \`--virtual\`\: where the machine'\''s kernel is, a directory with boot/vmlinuz-* and lib/modules \[default\: VM_ROOT, or /\]]:DIR:_files' \
'--out=[Directory for the page and its charts; made if it is not there \[default\: docs/papers beside \`scenarios\`, or here\]]:DIR:_files' \
'--runs=[Directory for finished runs \[default\: reproduce-PAPER\]]:DIR:_files' \
'--sim[Run the scenarios in the simulator (if neither is said, this)]' \
'(--both)--lab[Run the scenarios in the live lab]' \
'(--sim)--both[Run the scenarios in both]' \
'--virtual[Run the scenarios on a kernel in virtual time, too or alone, as \`ropewalk lab run --virtual\` does]' \
'--quick[Shorter runs, as the paper'\''s file says\: rough figures]' \
'--resume[Keep what is finished, and run the rest]' \
'(--lab --both --sim --virtual --runs --resume)--check[Run nothing\: fail if the page that is there was made by another build or from other rows]' \
'-h[Print help]' \
'--help[Print help]' \
':paper -- The paper\: a directory with a paper.toml, or the name of one below `scenarios`, here or further up:_files' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
':shell -- Which shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
':directory -- The directory:_files' \
&& ret=0
;;
(reference)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
':directory -- The directory:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-command-$line[1]:"
        case $line[1] in
            (setup)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__setup_commands" \
"*::: :->setup" \
&& ret=0

    case $state in
    (setup)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-setup-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(client)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(invite)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(web)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(path)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__path_commands" \
"*::: :->path" \
&& ret=0

    case $state in
    (path)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-path-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reset)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(clients)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(forward)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__forward_commands" \
"*::: :->forward" \
&& ret=0

    case $state in
    (forward)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-forward-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(group)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__group_commands" \
"*::: :->group" \
&& ret=0

    case $state in
    (group)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-group-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(limit)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__limit_commands" \
"*::: :->limit" \
&& ret=0

    case $state in
    (limit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-limit-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(exit)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__exit_commands" \
"*::: :->exit" \
&& ret=0

    case $state in
    (exit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-exit-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(quota)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__quota_commands" \
"*::: :->quota" \
&& ret=0

    case $state in
    (quota)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-quota-command-$line[1]:"
        case $line[1] in
            (set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(audit)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(drain)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(flows)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(ap)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__ap_commands" \
"*::: :->ap" \
&& ret=0

    case $state in
    (ap)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-ap-command-$line[1]:"
        case $line[1] in
            (invite)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(repeater)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(roam)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__roam_commands" \
"*::: :->roam" \
&& ret=0

    case $state in
    (roam)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-roam-command-$line[1]:"
        case $line[1] in
            (scan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(link)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bunch)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__bunch_commands" \
"*::: :->bunch" \
&& ret=0

    case $state in
    (bunch)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-bunch-command-$line[1]:"
        case $line[1] in
            (gateway)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(invite)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(ap)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(accounts)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__bunch__subcmd__accounts_commands" \
"*::: :->accounts" \
&& ret=0

    case $state in
    (accounts)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-bunch-accounts-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(harvest)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest_commands" \
"*::: :->harvest" \
&& ret=0

    case $state in
    (harvest)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-bunch-harvest-command-$line[1]:"
        case $line[1] in
            (record)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(pep)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__pep_commands" \
"*::: :->pep" \
&& ret=0

    case $state in
    (pep)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-pep-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(mptcp)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__mptcp_commands" \
"*::: :->mptcp" \
&& ret=0

    case $state in
    (mptcp)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-mptcp-command-$line[1]:"
        case $line[1] in
            (cc)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc_commands" \
"*::: :->cc" \
&& ret=0

    case $state in
    (cc)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-mptcp-cc-command-$line[1]:"
        case $line[1] in
            (load)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(unload)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(probe)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sim)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__sim_commands" \
"*::: :->sim" \
&& ret=0

    case $state in
    (sim)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-sim-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sweep)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(lab)
_arguments "${_arguments_options[@]}" : \
":: :_ropewalk__subcmd__help__subcmd__lab_commands" \
"*::: :->lab" \
&& ret=0

    case $state in
    (lab)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:ropewalk-help-lab-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(hwsim)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(down)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(shell)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(exec)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(map)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(radio)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(capture)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(machine)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reproduce)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reference)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_ropewalk_commands] )) ||
_ropewalk_commands() {
    local commands; commands=(
'setup:Set up a gateway or a client on this machine, step by step' \
'invite:Create a token that lets one device in' \
'up:Connect this machine to a gateway over all of its links' \
'status:Show the state of the running bond' \
'web:Serve a page that shows the running bond, and changes it' \
'path:Add, remove or change paths of the running bond' \
'doctor:Check this machine and its bond, and say what to mend' \
'serve:Run a gateway' \
'clients:List the devices that may come in' \
'revoke:Remove a device\: end its session and keep it out' \
'forward:Forward ports of the gateway to a device' \
'group:Let devices of a group reach each other' \
'limit:Cap a device'\''s rates, or set its share of a full line' \
'exit:Let a device'\''s traffic leave the gateway by an interface of its own' \
'quota:Give devices a quota of data for a month or a day' \
'audit:Show who did what at a gateway, and who came and went' \
'drain:Send a gateway'\''s clients to the other gateways, and take none' \
'flows:List connections by their rates, and whose they are' \
'top:Watch the running bond live' \
'restore:Restore routes, firewall and settings after a crash' \
'check:Check a configuration file' \
'ap:Run an access point with two radios' \
'repeater:Run a repeater with two radios' \
'roam:Connect to several access points at once' \
'link:Show queues, completions and stations of interfaces' \
'bunch:Upload over the neighbours'\'' uplinks, too' \
'pep:Split or repair TCP connections that this router forwards' \
'mptcp:Manage congestion control of the kernel'\''s MPTCP' \
'probe:Measure a path and find what limits it' \
'sim:Simulate a scenario in virtual time' \
'lab:Run a scenario live, in network namespaces' \
'compare:Compare two or three reports of a scenario' \
'reproduce:Run the scenarios of a paper and compare with its figures' \
'completions:Print completions for a shell' \
'man:Write the manual pages into a directory' \
'reference:Write the reference pages into a directory' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__ap_commands] )) ||
_ropewalk__subcmd__ap_commands() {
    local commands; commands=(
'invite:Create a token that lets one repeater in' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk ap commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__ap__subcmd__help_commands] )) ||
_ropewalk__subcmd__ap__subcmd__help_commands() {
    local commands; commands=(
'invite:Create a token that lets one repeater in' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk ap help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__ap__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__ap__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk ap help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__ap__subcmd__help__subcmd__invite_commands] )) ||
_ropewalk__subcmd__ap__subcmd__help__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk ap help invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__ap__subcmd__invite_commands] )) ||
_ropewalk__subcmd__ap__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk ap invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__audit_commands] )) ||
_ropewalk__subcmd__audit_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk audit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch_commands] )) ||
_ropewalk__subcmd__bunch_commands() {
    local commands; commands=(
'gateway:Run a gateway\: it puts uploads together and hands them to receivers' \
'invite:Create a token that lets one access point in' \
'ap:Run an access point\: it helps the uploads of its home, of its neighbours, or both' \
'status:Show the state of the running gateway or access point' \
'top:Watch the running gateway or access point live' \
'accounts:Show what contributors carried, by records that both ends signed; prove such a record' \
'harvest:See how much of an uplink nobody uses, and for how long' \
'revoke:Remove an access point\: end its tunnel and keep it out' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__accounts_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__accounts_commands() {
    local commands; commands=(
'verify:Prove records by the signatures alone; with files of both ends, find what one of them lacks' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch accounts commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help_commands() {
    local commands; commands=(
'verify:Prove records by the signatures alone; with files of both ends, find what one of them lacks' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch accounts help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch accounts help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help__subcmd__verify_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch accounts help verify commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__verify_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__accounts__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch accounts verify commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__ap_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__ap_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch ap commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest_commands() {
    local commands; commands=(
'record:Write down what an uplink carries, until Ctrl-C' \
'report:Show how much could have been shared, and for how long' \
'trace:Make a record up, to try the report on\: no home was measured for it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch harvest commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help_commands() {
    local commands; commands=(
'record:Write down what an uplink carries, until Ctrl-C' \
'report:Show how much could have been shared, and for how long' \
'trace:Make a record up, to try the report on\: no home was measured for it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch harvest help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__record_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest help record commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__report_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest help report commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__trace_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__help__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest help trace commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__record_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest record commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__report_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest report commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__trace_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__harvest__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch harvest trace commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help_commands() {
    local commands; commands=(
'gateway:Run a gateway\: it puts uploads together and hands them to receivers' \
'invite:Create a token that lets one access point in' \
'ap:Run an access point\: it helps the uploads of its home, of its neighbours, or both' \
'status:Show the state of the running gateway or access point' \
'top:Watch the running gateway or access point live' \
'accounts:Show what contributors carried, by records that both ends signed; prove such a record' \
'harvest:See how much of an uplink nobody uses, and for how long' \
'revoke:Remove an access point\: end its tunnel and keep it out' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk bunch help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__accounts_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__accounts_commands() {
    local commands; commands=(
'verify:Prove records by the signatures alone; with files of both ends, find what one of them lacks' \
    )
    _describe -t commands 'ropewalk bunch help accounts commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__accounts__subcmd__verify_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__accounts__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help accounts verify commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__ap_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__ap_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help ap commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest_commands() {
    local commands; commands=(
'record:Write down what an uplink carries, until Ctrl-C' \
'report:Show how much could have been shared, and for how long' \
'trace:Make a record up, to try the report on\: no home was measured for it' \
    )
    _describe -t commands 'ropewalk bunch help harvest commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__record_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help harvest record commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__report_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help harvest report commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__trace_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__harvest__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help harvest trace commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__invite_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__revoke_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help revoke commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__status_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__help__subcmd__top_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__help__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch help top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__invite_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__revoke_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch revoke commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__status_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__bunch__subcmd__top_commands] )) ||
_ropewalk__subcmd__bunch__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk bunch top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__check_commands] )) ||
_ropewalk__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__clients_commands] )) ||
_ropewalk__subcmd__clients_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk clients commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__compare_commands] )) ||
_ropewalk__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk compare commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__completions_commands] )) ||
_ropewalk__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk completions commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__doctor_commands] )) ||
_ropewalk__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk doctor commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__drain_commands] )) ||
_ropewalk__subcmd__drain_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk drain commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit_commands] )) ||
_ropewalk__subcmd__exit_commands() {
    local commands; commands=(
'set:Let all that a device sends to other networks leave by an interface, and by no other' \
'remove:Let it leave as the gateway'\''s own' \
'list:List exits' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk exit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__help_commands] )) ||
_ropewalk__subcmd__exit__subcmd__help_commands() {
    local commands; commands=(
'set:Let all that a device sends to other networks leave by an interface, and by no other' \
'remove:Let it leave as the gateway'\''s own' \
'list:List exits' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk exit help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__exit__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__help__subcmd__list_commands] )) ||
_ropewalk__subcmd__exit__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit help list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__exit__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__help__subcmd__set_commands] )) ||
_ropewalk__subcmd__exit__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit help set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__list_commands] )) ||
_ropewalk__subcmd__exit__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__remove_commands] )) ||
_ropewalk__subcmd__exit__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__exit__subcmd__set_commands] )) ||
_ropewalk__subcmd__exit__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk exit set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__flows_commands] )) ||
_ropewalk__subcmd__flows_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk flows commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward_commands] )) ||
_ropewalk__subcmd__forward_commands() {
    local commands; commands=(
'add:Forward a port of the gateway to a device' \
'remove:Stop forwarding a port' \
'list:List forwarded ports' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk forward commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__add_commands] )) ||
_ropewalk__subcmd__forward__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__help_commands] )) ||
_ropewalk__subcmd__forward__subcmd__help_commands() {
    local commands; commands=(
'add:Forward a port of the gateway to a device' \
'remove:Stop forwarding a port' \
'list:List forwarded ports' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk forward help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__help__subcmd__add_commands] )) ||
_ropewalk__subcmd__forward__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward help add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__forward__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__help__subcmd__list_commands] )) ||
_ropewalk__subcmd__forward__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward help list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__forward__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__list_commands] )) ||
_ropewalk__subcmd__forward__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__forward__subcmd__remove_commands] )) ||
_ropewalk__subcmd__forward__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk forward remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group_commands] )) ||
_ropewalk__subcmd__group_commands() {
    local commands; commands=(
'add:Add devices to a group, whose members reach each other' \
'remove:Remove devices from a group, or the group' \
'list:List groups' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk group commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__add_commands] )) ||
_ropewalk__subcmd__group__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__help_commands] )) ||
_ropewalk__subcmd__group__subcmd__help_commands() {
    local commands; commands=(
'add:Add devices to a group, whose members reach each other' \
'remove:Remove devices from a group, or the group' \
'list:List groups' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk group help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__help__subcmd__add_commands] )) ||
_ropewalk__subcmd__group__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group help add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__group__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__help__subcmd__list_commands] )) ||
_ropewalk__subcmd__group__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group help list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__group__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__list_commands] )) ||
_ropewalk__subcmd__group__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__group__subcmd__remove_commands] )) ||
_ropewalk__subcmd__group__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk group remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help_commands] )) ||
_ropewalk__subcmd__help_commands() {
    local commands; commands=(
'setup:Set up a gateway or a client on this machine, step by step' \
'invite:Create a token that lets one device in' \
'up:Connect this machine to a gateway over all of its links' \
'status:Show the state of the running bond' \
'web:Serve a page that shows the running bond, and changes it' \
'path:Add, remove or change paths of the running bond' \
'doctor:Check this machine and its bond, and say what to mend' \
'serve:Run a gateway' \
'clients:List the devices that may come in' \
'revoke:Remove a device\: end its session and keep it out' \
'forward:Forward ports of the gateway to a device' \
'group:Let devices of a group reach each other' \
'limit:Cap a device'\''s rates, or set its share of a full line' \
'exit:Let a device'\''s traffic leave the gateway by an interface of its own' \
'quota:Give devices a quota of data for a month or a day' \
'audit:Show who did what at a gateway, and who came and went' \
'drain:Send a gateway'\''s clients to the other gateways, and take none' \
'flows:List connections by their rates, and whose they are' \
'top:Watch the running bond live' \
'restore:Restore routes, firewall and settings after a crash' \
'check:Check a configuration file' \
'ap:Run an access point with two radios' \
'repeater:Run a repeater with two radios' \
'roam:Connect to several access points at once' \
'link:Show queues, completions and stations of interfaces' \
'bunch:Upload over the neighbours'\'' uplinks, too' \
'pep:Split or repair TCP connections that this router forwards' \
'mptcp:Manage congestion control of the kernel'\''s MPTCP' \
'probe:Measure a path and find what limits it' \
'sim:Simulate a scenario in virtual time' \
'lab:Run a scenario live, in network namespaces' \
'compare:Compare two or three reports of a scenario' \
'reproduce:Run the scenarios of a paper and compare with its figures' \
'completions:Print completions for a shell' \
'man:Write the manual pages into a directory' \
'reference:Write the reference pages into a directory' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__ap_commands] )) ||
_ropewalk__subcmd__help__subcmd__ap_commands() {
    local commands; commands=(
'invite:Create a token that lets one repeater in' \
    )
    _describe -t commands 'ropewalk help ap commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__ap__subcmd__invite_commands] )) ||
_ropewalk__subcmd__help__subcmd__ap__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help ap invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__audit_commands] )) ||
_ropewalk__subcmd__help__subcmd__audit_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help audit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch_commands() {
    local commands; commands=(
'gateway:Run a gateway\: it puts uploads together and hands them to receivers' \
'invite:Create a token that lets one access point in' \
'ap:Run an access point\: it helps the uploads of its home, of its neighbours, or both' \
'status:Show the state of the running gateway or access point' \
'top:Watch the running gateway or access point live' \
'accounts:Show what contributors carried, by records that both ends signed; prove such a record' \
'harvest:See how much of an uplink nobody uses, and for how long' \
'revoke:Remove an access point\: end its tunnel and keep it out' \
    )
    _describe -t commands 'ropewalk help bunch commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__accounts_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__accounts_commands() {
    local commands; commands=(
'verify:Prove records by the signatures alone; with files of both ends, find what one of them lacks' \
    )
    _describe -t commands 'ropewalk help bunch accounts commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__accounts__subcmd__verify_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__accounts__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch accounts verify commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__ap_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__ap_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch ap commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest_commands() {
    local commands; commands=(
'record:Write down what an uplink carries, until Ctrl-C' \
'report:Show how much could have been shared, and for how long' \
'trace:Make a record up, to try the report on\: no home was measured for it' \
    )
    _describe -t commands 'ropewalk help bunch harvest commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__record_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch harvest record commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__report_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch harvest report commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__trace_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__harvest__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch harvest trace commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__invite_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__revoke_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch revoke commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__status_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__bunch__subcmd__top_commands] )) ||
_ropewalk__subcmd__help__subcmd__bunch__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help bunch top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__check_commands] )) ||
_ropewalk__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__clients_commands] )) ||
_ropewalk__subcmd__help__subcmd__clients_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help clients commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__compare_commands] )) ||
_ropewalk__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help compare commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__completions_commands] )) ||
_ropewalk__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help completions commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__doctor_commands] )) ||
_ropewalk__subcmd__help__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help doctor commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__drain_commands] )) ||
_ropewalk__subcmd__help__subcmd__drain_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help drain commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__exit_commands] )) ||
_ropewalk__subcmd__help__subcmd__exit_commands() {
    local commands; commands=(
'set:Let all that a device sends to other networks leave by an interface, and by no other' \
'remove:Let it leave as the gateway'\''s own' \
'list:List exits' \
    )
    _describe -t commands 'ropewalk help exit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__exit__subcmd__list_commands] )) ||
_ropewalk__subcmd__help__subcmd__exit__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help exit list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__exit__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__exit__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help exit remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__exit__subcmd__set_commands] )) ||
_ropewalk__subcmd__help__subcmd__exit__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help exit set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__flows_commands] )) ||
_ropewalk__subcmd__help__subcmd__flows_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help flows commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__forward_commands] )) ||
_ropewalk__subcmd__help__subcmd__forward_commands() {
    local commands; commands=(
'add:Forward a port of the gateway to a device' \
'remove:Stop forwarding a port' \
'list:List forwarded ports' \
    )
    _describe -t commands 'ropewalk help forward commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__forward__subcmd__add_commands] )) ||
_ropewalk__subcmd__help__subcmd__forward__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help forward add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__forward__subcmd__list_commands] )) ||
_ropewalk__subcmd__help__subcmd__forward__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help forward list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__forward__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__forward__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help forward remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__group_commands] )) ||
_ropewalk__subcmd__help__subcmd__group_commands() {
    local commands; commands=(
'add:Add devices to a group, whose members reach each other' \
'remove:Remove devices from a group, or the group' \
'list:List groups' \
    )
    _describe -t commands 'ropewalk help group commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__group__subcmd__add_commands] )) ||
_ropewalk__subcmd__help__subcmd__group__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help group add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__group__subcmd__list_commands] )) ||
_ropewalk__subcmd__help__subcmd__group__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help group list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__group__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__group__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help group remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__invite_commands] )) ||
_ropewalk__subcmd__help__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab_commands() {
    local commands; commands=(
'run:Run a scenario'\''s own flows and events in real time, and print what every flow and station got, as \`sim run\` does' \
'hwsim:Run a scenario'\''s flows over the kernel'\''s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)' \
'check:Check whether this machine can run scenario files live' \
'up:Start a lab and keep it running' \
'down:Stop a lab' \
'shell:Open a shell in a node' \
'exec:Run a program in a node' \
'map:Show where nodes are and which hear each other' \
'set:Change a running lab\: move a station, cut a link, set a radio, start an interferer' \
'top:Watch stations, radios, paths of bonds and links' \
'radio:Show queues, completions, stations and channel of a node'\''s radios' \
'capture:Capture what a radio hears, as pcapng or by a monitor interface' \
'machine:The first process of a machine in virtual time' \
    )
    _describe -t commands 'ropewalk help lab commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__capture_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__capture_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab capture commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__check_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__down_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__down_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab down commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__exec_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__exec_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab exec commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__hwsim_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__hwsim_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab hwsim commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__machine_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__machine_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab machine commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__map_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__map_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab map commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__radio_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__radio_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab radio commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__run_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__set_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__shell_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__shell_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab shell commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__top_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__lab__subcmd__up_commands] )) ||
_ropewalk__subcmd__help__subcmd__lab__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help lab up commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__limit_commands] )) ||
_ropewalk__subcmd__help__subcmd__limit_commands() {
    local commands; commands=(
'set:Cap a device'\''s rates, or set its share of a full line, in place of what is set' \
'remove:Remove a device'\''s cap and share' \
'list:List caps and shares' \
    )
    _describe -t commands 'ropewalk help limit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__limit__subcmd__list_commands] )) ||
_ropewalk__subcmd__help__subcmd__limit__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help limit list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__limit__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__limit__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help limit remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__limit__subcmd__set_commands] )) ||
_ropewalk__subcmd__help__subcmd__limit__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help limit set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__link_commands] )) ||
_ropewalk__subcmd__help__subcmd__link_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help link commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__man_commands] )) ||
_ropewalk__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help man commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__mptcp_commands] )) ||
_ropewalk__subcmd__help__subcmd__mptcp_commands() {
    local commands; commands=(
'cc:Congestion controllers for the kernel\: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP' \
    )
    _describe -t commands 'ropewalk help mptcp commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc_commands] )) ||
_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc_commands() {
    local commands; commands=(
'load:Load controllers until \`unload\` or a reboot' \
'status:List loaded controllers and their connections' \
'unload:Unload controllers; open connections keep theirs' \
    )
    _describe -t commands 'ropewalk help mptcp cc commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__load_commands] )) ||
_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__load_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help mptcp cc load commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__status_commands] )) ||
_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help mptcp cc status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__unload_commands] )) ||
_ropewalk__subcmd__help__subcmd__mptcp__subcmd__cc__subcmd__unload_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help mptcp cc unload commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__path_commands] )) ||
_ropewalk__subcmd__help__subcmd__path_commands() {
    local commands; commands=(
'add:Add a path\: an interface, or another endpoint by it' \
'remove:Remove a path until the daemon starts again' \
'set:Set what a path is used for; it is remembered' \
'reset:Forget what was set for a path\: the configuration counts again' \
    )
    _describe -t commands 'ropewalk help path commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__path__subcmd__add_commands] )) ||
_ropewalk__subcmd__help__subcmd__path__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help path add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__path__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__path__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help path remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__path__subcmd__reset_commands] )) ||
_ropewalk__subcmd__help__subcmd__path__subcmd__reset_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help path reset commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__path__subcmd__set_commands] )) ||
_ropewalk__subcmd__help__subcmd__path__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help path set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__pep_commands] )) ||
_ropewalk__subcmd__help__subcmd__pep_commands() {
    local commands; commands=(
'status:Show the state of the running \`ropewalk pep\`' \
    )
    _describe -t commands 'ropewalk help pep commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__pep__subcmd__status_commands] )) ||
_ropewalk__subcmd__help__subcmd__pep__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help pep status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__probe_commands] )) ||
_ropewalk__subcmd__help__subcmd__probe_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help probe commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__quota_commands] )) ||
_ropewalk__subcmd__help__subcmd__quota_commands() {
    local commands; commands=(
'set:Give a device a quota, in place of the one that it has' \
'remove:Remove a device'\''s quota' \
'list:List quotas, and what is used of them' \
    )
    _describe -t commands 'ropewalk help quota commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__quota__subcmd__list_commands] )) ||
_ropewalk__subcmd__help__subcmd__quota__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help quota list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__quota__subcmd__remove_commands] )) ||
_ropewalk__subcmd__help__subcmd__quota__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help quota remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__quota__subcmd__set_commands] )) ||
_ropewalk__subcmd__help__subcmd__quota__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help quota set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__reference_commands] )) ||
_ropewalk__subcmd__help__subcmd__reference_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help reference commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__repeater_commands] )) ||
_ropewalk__subcmd__help__subcmd__repeater_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help repeater commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__reproduce_commands] )) ||
_ropewalk__subcmd__help__subcmd__reproduce_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help reproduce commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__restore_commands] )) ||
_ropewalk__subcmd__help__subcmd__restore_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help restore commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__revoke_commands] )) ||
_ropewalk__subcmd__help__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help revoke commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__roam_commands] )) ||
_ropewalk__subcmd__help__subcmd__roam_commands() {
    local commands; commands=(
'scan:Show which access points would be joined, and why' \
'status:Show the state of the running \`ropewalk roam\`' \
'top:Watch the running \`ropewalk roam\` live' \
    )
    _describe -t commands 'ropewalk help roam commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__roam__subcmd__scan_commands] )) ||
_ropewalk__subcmd__help__subcmd__roam__subcmd__scan_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help roam scan commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__roam__subcmd__status_commands] )) ||
_ropewalk__subcmd__help__subcmd__roam__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help roam status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__roam__subcmd__top_commands] )) ||
_ropewalk__subcmd__help__subcmd__roam__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help roam top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__serve_commands] )) ||
_ropewalk__subcmd__help__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help serve commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__setup_commands] )) ||
_ropewalk__subcmd__help__subcmd__setup_commands() {
    local commands; commands=(
'gateway:Set up a gateway on this machine and create its first token' \
'client:Set up this machine as a client of a gateway' \
'undo:Undo what \`setup\` did, and nothing else; or nothing, where something stands against it' \
    )
    _describe -t commands 'ropewalk help setup commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__setup__subcmd__client_commands] )) ||
_ropewalk__subcmd__help__subcmd__setup__subcmd__client_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help setup client commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__setup__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__help__subcmd__setup__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help setup gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__setup__subcmd__undo_commands] )) ||
_ropewalk__subcmd__help__subcmd__setup__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help setup undo commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__sim_commands] )) ||
_ropewalk__subcmd__help__subcmd__sim_commands() {
    local commands; commands=(
'run:Run a scenario once and print its results' \
'sweep:Run a scenario at every point of its sweep' \
'check:Check scenario files and count the runs of their sweeps' \
    )
    _describe -t commands 'ropewalk help sim commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__sim__subcmd__check_commands] )) ||
_ropewalk__subcmd__help__subcmd__sim__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help sim check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__sim__subcmd__run_commands] )) ||
_ropewalk__subcmd__help__subcmd__sim__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help sim run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__sim__subcmd__sweep_commands] )) ||
_ropewalk__subcmd__help__subcmd__sim__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help sim sweep commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__status_commands] )) ||
_ropewalk__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__top_commands] )) ||
_ropewalk__subcmd__help__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__up_commands] )) ||
_ropewalk__subcmd__help__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help up commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__help__subcmd__web_commands] )) ||
_ropewalk__subcmd__help__subcmd__web_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk help web commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__invite_commands] )) ||
_ropewalk__subcmd__invite_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk invite commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab_commands] )) ||
_ropewalk__subcmd__lab_commands() {
    local commands; commands=(
'run:Run a scenario'\''s own flows and events in real time, and print what every flow and station got, as \`sim run\` does' \
'hwsim:Run a scenario'\''s flows over the kernel'\''s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)' \
'check:Check whether this machine can run scenario files live' \
'up:Start a lab and keep it running' \
'down:Stop a lab' \
'shell:Open a shell in a node' \
'exec:Run a program in a node' \
'map:Show where nodes are and which hear each other' \
'set:Change a running lab\: move a station, cut a link, set a radio, start an interferer' \
'top:Watch stations, radios, paths of bonds and links' \
'radio:Show queues, completions, stations and channel of a node'\''s radios' \
'capture:Capture what a radio hears, as pcapng or by a monitor interface' \
'machine:The first process of a machine in virtual time' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk lab commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__capture_commands] )) ||
_ropewalk__subcmd__lab__subcmd__capture_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab capture commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__check_commands] )) ||
_ropewalk__subcmd__lab__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__down_commands] )) ||
_ropewalk__subcmd__lab__subcmd__down_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab down commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__exec_commands] )) ||
_ropewalk__subcmd__lab__subcmd__exec_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab exec commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help_commands() {
    local commands; commands=(
'run:Run a scenario'\''s own flows and events in real time, and print what every flow and station got, as \`sim run\` does' \
'hwsim:Run a scenario'\''s flows over the kernel'\''s own Wi-Fi (mac80211_hwsim, hostapd, wpa_supplicant)' \
'check:Check whether this machine can run scenario files live' \
'up:Start a lab and keep it running' \
'down:Stop a lab' \
'shell:Open a shell in a node' \
'exec:Run a program in a node' \
'map:Show where nodes are and which hear each other' \
'set:Change a running lab\: move a station, cut a link, set a radio, start an interferer' \
'top:Watch stations, radios, paths of bonds and links' \
'radio:Show queues, completions, stations and channel of a node'\''s radios' \
'capture:Capture what a radio hears, as pcapng or by a monitor interface' \
'machine:The first process of a machine in virtual time' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk lab help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__capture_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__capture_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help capture commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__check_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__down_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__down_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help down commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__exec_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__exec_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help exec commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__hwsim_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__hwsim_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help hwsim commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__machine_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__machine_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help machine commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__map_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__map_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help map commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__radio_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__radio_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help radio commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__run_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__set_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__shell_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__shell_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help shell commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__top_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__help__subcmd__up_commands] )) ||
_ropewalk__subcmd__lab__subcmd__help__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab help up commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__hwsim_commands] )) ||
_ropewalk__subcmd__lab__subcmd__hwsim_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab hwsim commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__machine_commands] )) ||
_ropewalk__subcmd__lab__subcmd__machine_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab machine commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__map_commands] )) ||
_ropewalk__subcmd__lab__subcmd__map_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab map commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__radio_commands] )) ||
_ropewalk__subcmd__lab__subcmd__radio_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab radio commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__run_commands] )) ||
_ropewalk__subcmd__lab__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__set_commands] )) ||
_ropewalk__subcmd__lab__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__shell_commands] )) ||
_ropewalk__subcmd__lab__subcmd__shell_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab shell commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__top_commands] )) ||
_ropewalk__subcmd__lab__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__lab__subcmd__up_commands] )) ||
_ropewalk__subcmd__lab__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk lab up commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit_commands] )) ||
_ropewalk__subcmd__limit_commands() {
    local commands; commands=(
'set:Cap a device'\''s rates, or set its share of a full line, in place of what is set' \
'remove:Remove a device'\''s cap and share' \
'list:List caps and shares' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk limit commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__help_commands] )) ||
_ropewalk__subcmd__limit__subcmd__help_commands() {
    local commands; commands=(
'set:Cap a device'\''s rates, or set its share of a full line, in place of what is set' \
'remove:Remove a device'\''s cap and share' \
'list:List caps and shares' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk limit help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__limit__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__help__subcmd__list_commands] )) ||
_ropewalk__subcmd__limit__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit help list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__limit__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__help__subcmd__set_commands] )) ||
_ropewalk__subcmd__limit__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit help set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__list_commands] )) ||
_ropewalk__subcmd__limit__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__remove_commands] )) ||
_ropewalk__subcmd__limit__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__limit__subcmd__set_commands] )) ||
_ropewalk__subcmd__limit__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk limit set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__link_commands] )) ||
_ropewalk__subcmd__link_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk link commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__man_commands] )) ||
_ropewalk__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk man commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp_commands] )) ||
_ropewalk__subcmd__mptcp_commands() {
    local commands; commands=(
'cc:Congestion controllers for the kernel\: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk mptcp commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc_commands() {
    local commands; commands=(
'load:Load controllers until \`unload\` or a reboot' \
'status:List loaded controllers and their connections' \
'unload:Unload controllers; open connections keep theirs' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk mptcp cc commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help_commands() {
    local commands; commands=(
'load:Load controllers until \`unload\` or a reboot' \
'status:List loaded controllers and their connections' \
'unload:Unload controllers; open connections keep theirs' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk mptcp cc help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__load_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__load_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc help load commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__status_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc help status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__unload_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__help__subcmd__unload_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc help unload commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__load_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__load_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc load commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__status_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__unload_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__cc__subcmd__unload_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp cc unload commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help_commands() {
    local commands; commands=(
'cc:Congestion controllers for the kernel\: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk mptcp help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc_commands() {
    local commands; commands=(
'load:Load controllers until \`unload\` or a reboot' \
'status:List loaded controllers and their connections' \
'unload:Unload controllers; open connections keep theirs' \
    )
    _describe -t commands 'ropewalk mptcp help cc commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__load_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__load_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp help cc load commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__status_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp help cc status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__unload_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help__subcmd__cc__subcmd__unload_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp help cc unload commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__mptcp__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__mptcp__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk mptcp help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path_commands] )) ||
_ropewalk__subcmd__path_commands() {
    local commands; commands=(
'add:Add a path\: an interface, or another endpoint by it' \
'remove:Remove a path until the daemon starts again' \
'set:Set what a path is used for; it is remembered' \
'reset:Forget what was set for a path\: the configuration counts again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk path commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__add_commands] )) ||
_ropewalk__subcmd__path__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help_commands] )) ||
_ropewalk__subcmd__path__subcmd__help_commands() {
    local commands; commands=(
'add:Add a path\: an interface, or another endpoint by it' \
'remove:Remove a path until the daemon starts again' \
'set:Set what a path is used for; it is remembered' \
'reset:Forget what was set for a path\: the configuration counts again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk path help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help__subcmd__add_commands] )) ||
_ropewalk__subcmd__path__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path help add commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__path__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__path__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help__subcmd__reset_commands] )) ||
_ropewalk__subcmd__path__subcmd__help__subcmd__reset_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path help reset commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__help__subcmd__set_commands] )) ||
_ropewalk__subcmd__path__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path help set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__remove_commands] )) ||
_ropewalk__subcmd__path__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__reset_commands] )) ||
_ropewalk__subcmd__path__subcmd__reset_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path reset commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__path__subcmd__set_commands] )) ||
_ropewalk__subcmd__path__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk path set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__pep_commands] )) ||
_ropewalk__subcmd__pep_commands() {
    local commands; commands=(
'status:Show the state of the running \`ropewalk pep\`' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk pep commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__pep__subcmd__help_commands] )) ||
_ropewalk__subcmd__pep__subcmd__help_commands() {
    local commands; commands=(
'status:Show the state of the running \`ropewalk pep\`' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk pep help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__pep__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__pep__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk pep help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__pep__subcmd__help__subcmd__status_commands] )) ||
_ropewalk__subcmd__pep__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk pep help status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__pep__subcmd__status_commands] )) ||
_ropewalk__subcmd__pep__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk pep status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__probe_commands] )) ||
_ropewalk__subcmd__probe_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk probe commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota_commands] )) ||
_ropewalk__subcmd__quota_commands() {
    local commands; commands=(
'set:Give a device a quota, in place of the one that it has' \
'remove:Remove a device'\''s quota' \
'list:List quotas, and what is used of them' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk quota commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__help_commands] )) ||
_ropewalk__subcmd__quota__subcmd__help_commands() {
    local commands; commands=(
'set:Give a device a quota, in place of the one that it has' \
'remove:Remove a device'\''s quota' \
'list:List quotas, and what is used of them' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk quota help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__quota__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__help__subcmd__list_commands] )) ||
_ropewalk__subcmd__quota__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota help list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__help__subcmd__remove_commands] )) ||
_ropewalk__subcmd__quota__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota help remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__help__subcmd__set_commands] )) ||
_ropewalk__subcmd__quota__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota help set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__list_commands] )) ||
_ropewalk__subcmd__quota__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota list commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__remove_commands] )) ||
_ropewalk__subcmd__quota__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota remove commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__quota__subcmd__set_commands] )) ||
_ropewalk__subcmd__quota__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk quota set commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__reference_commands] )) ||
_ropewalk__subcmd__reference_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk reference commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__repeater_commands] )) ||
_ropewalk__subcmd__repeater_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk repeater commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__reproduce_commands] )) ||
_ropewalk__subcmd__reproduce_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk reproduce commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__restore_commands] )) ||
_ropewalk__subcmd__restore_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk restore commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__revoke_commands] )) ||
_ropewalk__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk revoke commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam_commands] )) ||
_ropewalk__subcmd__roam_commands() {
    local commands; commands=(
'scan:Show which access points would be joined, and why' \
'status:Show the state of the running \`ropewalk roam\`' \
'top:Watch the running \`ropewalk roam\` live' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk roam commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__help_commands] )) ||
_ropewalk__subcmd__roam__subcmd__help_commands() {
    local commands; commands=(
'scan:Show which access points would be joined, and why' \
'status:Show the state of the running \`ropewalk roam\`' \
'top:Watch the running \`ropewalk roam\` live' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk roam help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__roam__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__help__subcmd__scan_commands] )) ||
_ropewalk__subcmd__roam__subcmd__help__subcmd__scan_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam help scan commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__help__subcmd__status_commands] )) ||
_ropewalk__subcmd__roam__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam help status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__help__subcmd__top_commands] )) ||
_ropewalk__subcmd__roam__subcmd__help__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam help top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__scan_commands] )) ||
_ropewalk__subcmd__roam__subcmd__scan_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam scan commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__status_commands] )) ||
_ropewalk__subcmd__roam__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__roam__subcmd__top_commands] )) ||
_ropewalk__subcmd__roam__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk roam top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__serve_commands] )) ||
_ropewalk__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk serve commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup_commands] )) ||
_ropewalk__subcmd__setup_commands() {
    local commands; commands=(
'gateway:Set up a gateway on this machine and create its first token' \
'client:Set up this machine as a client of a gateway' \
'undo:Undo what \`setup\` did, and nothing else; or nothing, where something stands against it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk setup commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__client_commands] )) ||
_ropewalk__subcmd__setup__subcmd__client_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup client commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__setup__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__help_commands] )) ||
_ropewalk__subcmd__setup__subcmd__help_commands() {
    local commands; commands=(
'gateway:Set up a gateway on this machine and create its first token' \
'client:Set up this machine as a client of a gateway' \
'undo:Undo what \`setup\` did, and nothing else; or nothing, where something stands against it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk setup help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__help__subcmd__client_commands] )) ||
_ropewalk__subcmd__setup__subcmd__help__subcmd__client_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup help client commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__help__subcmd__gateway_commands] )) ||
_ropewalk__subcmd__setup__subcmd__help__subcmd__gateway_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup help gateway commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__setup__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__help__subcmd__undo_commands] )) ||
_ropewalk__subcmd__setup__subcmd__help__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup help undo commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__setup__subcmd__undo_commands] )) ||
_ropewalk__subcmd__setup__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk setup undo commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim_commands] )) ||
_ropewalk__subcmd__sim_commands() {
    local commands; commands=(
'run:Run a scenario once and print its results' \
'sweep:Run a scenario at every point of its sweep' \
'check:Check scenario files and count the runs of their sweeps' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk sim commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__check_commands] )) ||
_ropewalk__subcmd__sim__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__help_commands] )) ||
_ropewalk__subcmd__sim__subcmd__help_commands() {
    local commands; commands=(
'run:Run a scenario once and print its results' \
'sweep:Run a scenario at every point of its sweep' \
'check:Check scenario files and count the runs of their sweeps' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'ropewalk sim help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__help__subcmd__check_commands] )) ||
_ropewalk__subcmd__sim__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim help check commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__help__subcmd__help_commands] )) ||
_ropewalk__subcmd__sim__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim help help commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__help__subcmd__run_commands] )) ||
_ropewalk__subcmd__sim__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim help run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__help__subcmd__sweep_commands] )) ||
_ropewalk__subcmd__sim__subcmd__help__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim help sweep commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__run_commands] )) ||
_ropewalk__subcmd__sim__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim run commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__sim__subcmd__sweep_commands] )) ||
_ropewalk__subcmd__sim__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk sim sweep commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__status_commands] )) ||
_ropewalk__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk status commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__top_commands] )) ||
_ropewalk__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk top commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__up_commands] )) ||
_ropewalk__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk up commands' commands "$@"
}
(( $+functions[_ropewalk__subcmd__web_commands] )) ||
_ropewalk__subcmd__web_commands() {
    local commands; commands=()
    _describe -t commands 'ropewalk web commands' commands "$@"
}

if [ "$funcstack[1]" = "_ropewalk" ]; then
    _ropewalk "$@"
else
    compdef _ropewalk ropewalk
fi
