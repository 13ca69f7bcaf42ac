// Test of `hunch mcp` and /mcp with the TypeScript clients: the current one in both protocol eras, and the older, widely
// used SDK. Prints a line for each pair.
//
//     node typescript_client.mjs PYTHON RENDEZVOUS PROJECT      (run in the folder that has node_modules)
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [python, rendezvous, project] = process.argv.slice(2);
const require = createRequire(process.cwd() + '/');
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const rendezvousFile = JSON.parse(readFileSync(rendezvous, 'utf8'));
const file = ['src/flask/sessions.py', 'src/cart.py'].find((path) => existsSync(`${project}/${path}`));

const current = { ...(await load('@modelcontextprotocol/client')), ...(await load('@modelcontextprotocol/client/stdio')) };
const older = {
  ...(await load('@modelcontextprotocol/sdk/client/index.js')),
  ...(await load('@modelcontextprotocol/sdk/client/stdio.js')),
  ...(await load('@modelcontextprotocol/sdk/client/streamableHttp.js')),
};

for (const [name, library, options] of [
  ['client auto  ', current, { versionNegotiation: { mode: 'auto' } }],
  ['client legacy', current, {}],
  ['sdk          ', older, {}],
]) {
  for (const transport of ['stdio', 'http']) {
    const client = new library.Client({ name: 'hunchd-test', version: '1' }, options);
    const began = performance.now();
    await client.connect(
      transport === 'stdio'
        ? new library.StdioClientTransport({
            command: python,
            args: ['-m', 'hunchd.cli', 'mcp'],
            cwd: project,
            env: { ...process.env },
            stderr: 'inherit',
          })
        : new library.StreamableHTTPClientTransport(new URL(rendezvousFile.url + '/mcp'), {
            requestInit: { headers: { Authorization: `Bearer ${rendezvousFile.token}` } },
          }),
    );
    const connected = performance.now() - began;
    const took = await checkAll(client);
    const revision = client.getNegotiatedProtocolVersion?.() ?? '2025-11-25';
    console.log(`typescript ${name} ${transport.padEnd(5)} ${revision}  ok  connected in ${connected.toFixed(0)} ms, a predict ${took.toFixed(1)} ms`);
    await client.close();
  }
}

/** Use each tool, resource and prompt once; return the median of a call in milliseconds. */
async function checkAll(client) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ['context', 'search', 'remember', 'expand', 'predict', 'feedback']);
  assert.equal(tools[0].annotations.readOnlyHint, true);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: { ...args, project } });
    assert.ok(!result.isError, JSON.stringify(result));
    return result.content[0].text;
  };
  assert.ok((await call('context', { file, budget: 1500 })).includes(file));
  assert.ok((await call('remember', { text: 'sessions stay signed cookies' })).startsWith('Stored as'));
  assert.ok((await call('search', { query: 'signed cookies' })).includes('signed cookies'));
  assert.ok(await call('expand', { topic: file }));
  assert.equal(await call('feedback', { id: file, outcome: 'cited' }), 'Noted.');
  const refused = await client.callTool({ name: 'context', arguments: { path: file } });
  assert.ok(refused.isError && refused.content[0].text.includes('It takes: file'));
  const { resources } = await client.listResources();
  assert.equal((await client.readResource({ uri: resources[0].uri })).contents[0].mimeType, 'text/markdown');
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
  await assert.rejects(client.readResource({ uri: 'hunch://nothing' }), /no resource/);
  assert.deepEqual((await client.listPrompts()).prompts.map((prompt) => prompt.name), ['debug', 'start_feature']);
  const prompt = await client.getPrompt({ name: 'debug', arguments: { error: 'KeyError: 7', file: `${project}/${file}` } });
  assert.ok(prompt.messages[0].content.text.includes('KeyError: 7'));
  const times = [];
  for (let n = 0; n < 30; n++) {
    const began = performance.now();
    await call('predict', { file });
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[15];
}
