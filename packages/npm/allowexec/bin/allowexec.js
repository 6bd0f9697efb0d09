#!/usr/bin/env node
// Becomes the binary of this platform, which an optional dependency brings; where Node can't, it starts the binary and passes signals on.
"use strict";
const { accessSync, constants: access } = require("node:fs");
const { constants } = require("node:os");
const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "allowexec.exe" : "allowexec";
let binary;
try {
    binary = require.resolve(`@allowexec/${platform}/bin/${name}`);
} catch {
    console.error(`allowexec: the package @allowexec/${platform} is not installed; install without --omit=optional, or build from source if there is no such package`);
    process.exit(2);
}
// Node aborts, with a core dump, if execve(2) fails; spawn says why.
function isExecutable() {
    try {
        accessSync(binary, access.X_OK);
        return true;
    } catch {
        return false;
    }
}
if (process.execve && process.platform !== "win32" && isExecutable()) {
    // That this is experimental is of no use to whoever reads the server's log.
    process.removeAllListeners("warning");
    process.execve(binary, [binary, ...process.argv.slice(2)]);
}
const child = require("node:child_process").spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
    console.error(`allowexec: ${binary} can't be started: ${error.message}`);
    process.exit(2);
});
child.on("exit", (code, signal) => {
    if (signal) process.removeAllListeners(signal).kill(process.pid, signal);
    process.exit(code ?? 128 + constants.signals[signal]);
});
