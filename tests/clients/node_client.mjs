// Drives the server with the npm packages `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/client` 2.x.
//
// usage: node node_client.mjs PACKAGES MODE ROOT OTHER SERVER [ARGUMENT...]
//
// PACKAGES is the directory that holds `node_modules` with one of the two. MODE is `legacy` for 1.x; for 2.x also `auto` or a
// revision. ROOT is the directory that is offered as a root, and holds a directory `inside`; OTHER is offered in its place
// later. SERVER is given `--roots use`. Prints one line of JSON: the version, the revision spoken, and what was tried with how it
// went.

import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, mode, root, other, command, ...args] = process.argv.slice(2);
const modules = join(packages, "node_modules", "@modelcontextprotocol");
const second = existsSync(join(modules, "client"));
const home = join(modules, second ? "client" : "sdk");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const load = (path) => import(pathToFileURL(join(home, path)));

const tried = {};
const errors = [];
const messages = [];
// What is offered as roots, and how often that was asked for.
let offered = [root];
let rootsAsked = 0;

function expect(condition, seen) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(seen)}`);
}

async function step(name, work) {
  let timer;
  const limit = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no end in 15 s")), 15000)));
  try {
    tried[name] = (await Promise.race([work(), limit])) || "ok";
  } catch (error) {
    tried[name] = `FAILED: ${error.message}`;
  } finally {
    clearTimeout(timer);
  }
}

const info = { name: "allowexec-test", version: "0" };
const roots = async () => {
  rootsAsked += 1;
  return { roots: offered.map((root) => ({ uri: pathToFileURL(root).href, name: basename(root) })) };
};

// `elicited` answers the server's forms; without it the client does not show any.
async function connect(args, elicited) {
  const options = { capabilities: { roots: { listChanged: true }, ...(elicited && { elicitation: {} }) } };
  if (second) {
    const { Client } = await load("dist/index.mjs");
    const { StdioClientTransport } = await load("dist/stdio.mjs");
    const versionNegotiation = mode === "legacy" || mode === "auto" ? { mode } : { mode: { pin: mode } };
    const client = new Client(info, { ...options, versionNegotiation });
    client.setRequestHandler("roots/list", roots);
    if (elicited) client.setRequestHandler("elicitation/create", elicited);
    client.setNotificationHandler("notifications/message", ({ params }) => void messages.push(params));
    client.onerror = (error) => errors.push(error.message);
    await client.connect(new StdioClientTransport({ command, args }));
    return client;
  }
  const { Client } = await load("dist/esm/client/index.js");
  const { StdioClientTransport } = await load("dist/esm/client/stdio.js");
  const types = await load("dist/esm/types.js");
  const client = new Client(info, options);
  client.setRequestHandler(types.ListRootsRequestSchema, roots);
  if (elicited) client.setRequestHandler(types.ElicitRequestSchema, elicited);
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => void messages.push(params));
  client.onerror = (error) => errors.push(error.message);
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
}

function callOn(client, line, more = {}, options = {}, meta = undefined) {
  const params = { name: "execute_command", arguments: { command: line, ...more } };
  if (meta) params._meta = meta;
  return second ? client.callTool(params, options) : client.callTool(params, undefined, options);
}

// While it answers the server's question a client of 2.x reports progress of its own, which counts beside the server's.
const isServers = ({ message }) => !message?.startsWith("Fulfilling input required");

const text = (result) => result.content[0].text;

function runsIn(directory, result) {
  expect(!result.isError && text(result).includes(`stdout: |\n  ${directory}\n`), result);
}

function isOutside(result) {
  expect(result.isError && text(result).includes("is not inside an allowed root"), result);
}

let revision = "none";
try {
  const client = await connect(args);
  const modern = second && client.getNegotiatedProtocolVersion() === "2026-07-28";
  // The clients of 1.x tell only their transport, and the older ones nobody: the record has it then.
  revision = second ? client.getNegotiatedProtocolVersion() : (client.transport._protocolVersion ?? "");
  const call = (line, more, options, meta) => callOn(client, line, more, options, meta);

  await step("list", async () => {
    const { tools } = await client.listTools();
    expect(tools[0].name === "execute_command" && tools[1].name === "execute_process", tools);
  });
  await step("call", async () => {
    const result = await call("echo hello");
    expect(!result.isError && text(result).includes("hello"), result);
  });
  await step("refused", async () => {
    const result = await call("rm -rf x");
    expect(result.isError && text(result).includes("not allowed"), result);
  });
  await step("timeout", async () => {
    const result = await call("sleep 30", { timeout_ms: 300 });
    expect(result.isError && text(result).includes("timed_out: true"), result);
  });
  await step("cancel", async () => {
    const abort = new AbortController();
    const onprogress = (progress) => isServers(progress) && abort.abort();
    const pending = call("sleep 299", {}, { signal: abort.signal, onprogress });
    const outcome = await pending.then((result) => ({ result }), (error) => ({ error: String(error) }));
    expect(outcome.error !== undefined, outcome);
    await client.listTools();
  });
  await step("progress", async () => {
    const seen = [];
    await call("sh -c 'echo tick; sleep 2.4'", {}, { onprogress: (progress) => isServers(progress) && seen.push(progress) });
    expect(seen.length > 0 && seen.every(({ progress }, place) => !place || progress > seen[place - 1].progress), seen);
    expect(revision === "2024-11-05" || revision === "" || seen[0].message === "tick", seen);
  });
  await step("prompts", async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts[0].name === "intro" && prompts[1].name === "explain_refusal", prompts);
    await client.getPrompt({ name: "intro" });
    const filled = await client.getPrompt({ name: "explain_refusal", arguments: { command: "rm x" } });
    expect(filled.messages[0].content.text.includes("would be refused"), filled);
    const without = await client.getPrompt({ name: "explain_refusal" }).catch((error) => error);
    expect(without.code === -32602, String(without));
  });
  await step("completion", async () => {
    if (client.getServerCapabilities().completions === undefined && !version.startsWith("1.7.")) {
      expect(false, client.getServerCapabilities());
    }
    const ref = { type: "ref/prompt", name: "explain_refusal" };
    const asked = client.complete({ ref, argument: { name: "command", value: "s" } });
    const outcome = await asked.catch((error) => error);
    if (version.startsWith("1.7.")) {
      expect(outcome.code === -32601, String(outcome));
      return "ok, refused: 2024-11-05 has none";
    }
    expect(outcome.completion.values.toSorted().join() === "sh,sleep", outcome);
  });
  await step("50 at once", async () => {
    const results = await Promise.all(Array.from({ length: 50 }, (_, number) => call(`echo ${number}`)));
    expect(results.every((result, number) => text(result).includes(`${number}\n`)), results);
  });
  await step("logging", async () => {
    messages.length = 0;
    if (!modern) await client.setLoggingLevel("info");
    await call("echo logged", {}, {}, modern ? { "io.modelcontextprotocol/logLevel": "info" } : undefined);
    expect(messages.map(({ data }) => data.event).join() === "allowed,ended", messages);
    if (!modern) await client.setLoggingLevel("emergency");
  });
  if (modern) {
    await step("listen", async () => {
      const subscription = await client.listen({ toolsListChanged: true });
      await call("echo beside");
      await subscription.close();
    });
  }
  // A task runs to its end, another is cancelled, and a third is asked about again after the client gave up on its result.
  const { tasks } = client.experimental ?? {};
  if (tasks?.callToolStream && client.getServerCapabilities()?.tasks) {
    await step("tasks", async () => {
      const begin = async (script) => {
        const params = { name: "execute_process", arguments: { file: "sh", args: ["-c", script] } };
        const stream = tasks.callToolStream(params, undefined, { task: { ttl: 60000 } });
        const { value } = await stream.next();
        expect(value.type === "taskCreated", value);
        return [value.task.taskId, stream];
      };
      const [ran, stream] = await begin("echo as a task");
      let last;
      for await (const message of stream) last = message;
      expect(last.type === "result" && text(last.result).includes("as a task"), last);
      const [cancelled] = await begin("echo begun; sleep 296");
      await tasks.cancelTask(cancelled);
      expect((await tasks.getTask(cancelled)).status === "cancelled", cancelled);
      const [slow] = await begin("sleep 1; echo at last");
      const { CallToolResultSchema } = await load("dist/esm/types.js");
      const gaveUp = await tasks.getTaskResult(slow, CallToolResultSchema, { timeout: 100 }).then(() => false, () => true);
      expect(gaveUp, "it was too fast");
      expect(text(await tasks.getTaskResult(slow, CallToolResultSchema)).includes("at last"), slow);
      const listed = (await tasks.listTasks()).tasks.map(({ taskId }) => taskId);
      expect([ran, cancelled, slow].every((id) => listed.includes(id)), listed);
    });
  }
  // The root is where calls run and what bounds them, and so is the next one once the client changed it.
  await step("roots", async () => {
    const pwd = (cwd) => call("sh -c pwd", cwd ? { cwd } : {});
    const change = async (...roots) => {
      offered = roots;
      if (!modern) await client.sendRootsListChanged();
    };
    const begun = rootsAsked;
    runsIn(root, await pwd());
    runsIn(`${root}/inside`, await pwd("inside"));
    isOutside(await pwd(`../${basename(other)}`));
    // A legacy client was asked once after the handshake, a modern one is asked for each call, once.
    expect(modern ? rootsAsked === begun + 3 : begun === 1 && rootsAsked === 1, [begun, rootsAsked]);

    await change(other);
    runsIn(other, await pwd());
    isOutside(await pwd(`../${basename(root)}`));
    await change(root, other);
    runsIn(root, await pwd());
    runsIn(other, await pwd(`../${basename(other)}`));
    if (modern) {
      expect(rootsAsked === begun + 7, [begun, rootsAsked]);
      return "ok, input_required";
    }
    expect(rootsAsked === 3, rootsAsked);
    isOutside(await pwd("/"));
    await change();
    runsIn("/", await pwd("/"));
    expect(rootsAsked === 4, rootsAsked);
    return "ok, list_changed";
  });
  // Under `--roots require` no directory is served unless the client's roots hold it, whatever the era.
  await step("roots required", async () => {
    offered = [root];
    const requiring = await connect(args.map((argument) => (argument === "use" ? "require" : argument)));
    try {
      runsIn(root, await callOn(requiring, "sh -c pwd"));
      runsIn(`${root}/inside`, await callOn(requiring, "sh -c pwd", { cwd: `${root}/inside` }));
      isOutside(await callOn(requiring, "sh -c pwd", { cwd: other }));
    } finally {
      await requiring.close();
    }
  });
  // `echo` runs only where the user says so, and for the session without being asked again.
  await step("approval", async () => {
    const asking = [...args, "--ask", "echo"];
    const showsForms = second || (await load("dist/esm/types.js")).ElicitRequestSchema !== undefined;
    if (showsForms) {
      const answers = [["accept", "once"], ["decline"], ["cancel"], ["accept", "session"]];
      const asked = await connect(asking, async ({ params }) => {
        expect(params.message.startsWith("Run this command?\ncommand: "), params);
        const [action, remember] = answers.shift();
        return remember ? { action, content: { remember } } : { action };
      });
      try {
        for (const runs of [true, false, false, true, true]) {
          const result = await callOn(asked, "echo approved");
          expect(!result.isError === runs && text(result).includes("approved\n") === runs, result);
        }
        expect(answers.length === 0, answers);
      } finally {
        await asked.close();
      }
    }
    const unasked = await connect(asking);
    try {
      const result = await callOn(unasked, "echo approved");
      expect(result.isError && text(result).includes("nobody can be asked"), result);
    } finally {
      await unasked.close();
    }
    return showsForms ? "ok" : "ok, refused: this version shows no forms";
  });
  const begun = performance.now();
  await client.close();
  tried.end = errors.length ? `FAILED: ${errors.join("; ")}` : `ok, ${Math.round(performance.now() - begun)} ms`;
} catch (error) {
  tried.end = `FAILED: ${error.message}; ${errors.join("; ")}`;
}
const client = second ? "npm @modelcontextprotocol/client" : "npm @modelcontextprotocol/sdk";
console.log(JSON.stringify({ client, version, mode, revision, tried }));
