'use strict';
'require view';
'require fs';
'require poll';

/* Each bond's paths, every three seconds. To E a bare string is HTML, one in an array is text. */
const RATE = ['b/s', 'kb/s', 'Mb/s', 'Gb/s'];
let before = {};

function rate(bits) {
	let unit = 0;
	for (; bits >= 1000 && unit < RATE.length - 1; unit++)
		bits /= 1000;
	return bits.toFixed(unit ? 1 : 0) + ' ' + RATE[unit];
}

/* What a counter gained since the last look, in bits per second. */
function gained(key, bytes, clock) {
	const last = before[key];
	before[key] = { bytes: bytes, clock: clock };
	if (!last || clock <= last.clock || bytes < last.bytes)
		return '–';
	return rate((bytes - last.bytes) * 8e9 / (clock - last.clock));
}

function path(name, peer, it, clock) {
	const key = [ name, peer.name, it.id ].join(' ');
	return E('tr', { 'class': 'tr' }, [ it.name, it.state, it.class,
		it.rtt_ms != null ? it.rtt_ms.toFixed(1) + ' ms' : '–',
		gained(key + ' up', it.sent_bytes, clock), gained(key + ' down', it.received_bytes, clock),
		it.lost ].map(text => E('td', { 'class': 'td' }, [ String(text) ])));
}

function bond(name, status) {
	const head = [ _('Path'), _('State'), _('Class'), _('Round trip'), _('Up'), _('Down'), _('Lost') ];
	return E('div', { 'class': 'cbi-section' }, [ E('h3', {}, [ name + ': ' + status.role + ' ' + status.device ]) ].concat(
		status.peers.map(peer => E('div', {}, [
			E('p', {}, [ peer.name + ': ' + (peer.up ? _('connected') : _('not connected')) ]),
			E('table', { 'class': 'table' }, [ E('tr', { 'class': 'tr table-titles' },
				head.map(text => E('th', { 'class': 'th' }, [ text ]))) ].concat(
				peer.paths.map(it => path(name, peer, it, status.clock_ns)))) ]))));
}

function look() {
	return fs.exec_direct('/usr/libexec/ropewalk-status', [], 'json').then(all =>
		Object.keys(all).map(name => all[name] ? bond(name, all[name]) : E('p', {}, [ name + ': ' + _('does not run') ])));
}

return view.extend({
	load: look,
	render: function(bonds) {
		const place = E('div', {}, bonds);
		poll.add(() => look().then(now => place.replaceChildren.apply(place, now)), 3);
		return E('div', {}, [ E('h2', {}, [ 'Ropewalk' ]), place ]);
	},
	handleSave: null, handleSaveApply: null, handleReset: null
});
