// Runs the page with stand-ins for LuCI's functions: a bond that carries and one that does not run.
import assert from 'node:assert';
import { readFileSync } from 'node:fs';

const source = readFileSync(new URL('status.js', import.meta.url), 'utf8');
const text = node => Array.isArray(node) ? node.map(text).join(' ') : node.children ? text(node.children) : String(node);
// As in LuCI: a string by itself becomes innerHTML, whose elements are no text; in an array it
// becomes a text node.
const E = (tag, attributes, children) => ({ tag, children: typeof children === 'string' ? [ children.replace(/<[^>]*>/g, '') ] : [].concat(children), replaceChildren(...all) { this.children = all; } });
const path = bytes => ({ id: 1, name: 'wan1<img src=x>', state: 'active', class: 'metered', rtt_ms: 12.34, sent_bytes: bytes, received_bytes: 2 * bytes, lost: 7 });
const bond = (bytes, clock_ns) => ({ role: 'client', device: 'rw0<img src=x>', clock_ns, peers: [ { name: 'gateway<img src=x>', up: true, paths: [ path(bytes) ] } ] });
const said = [ { home: bond(0, 0), 'other<img src=x>': null }, { home: bond(1e6, 1e9), 'other<img src=x>': null } ];
const asked = [];
const fs = { exec_direct: (...what) => { asked.push(what); return Promise.resolve(said.shift()); } };
let again;
const poll = { add: (call, seconds) => { assert.equal(seconds, 3); again = call; } };

const page = new Function('view', 'fs', 'poll', 'E', '_', source)({ extend: it => it }, fs, poll, E, word => word);
const shown = page.render(await page.load());
assert.match(text(shown), /home: client rw0<img src=x> .*gateway<img src=x>: connected .*wan1<img src=x> active metered 12.3 ms – – 7 .*other<img src=x>: does not run/);
await again();
assert.match(text(shown), /8\.0 Mb\/s 16\.0 Mb\/s/);
assert.deepEqual(asked[0], [ '/usr/libexec/ropewalk-status', [], 'json' ]);
// Who may see it may run that, and run it the way fs.exec_direct does: by cgi-io.
const may = JSON.parse(readFileSync(new URL('acl.json', import.meta.url), 'utf8')).ropewalk.read;
assert.deepEqual(may, { 'cgi-io': [ 'exec' ], file: { [asked[0][0]]: [ 'exec' ] } });
