import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const entry = path.join(process.env.ORACLES, 'node_modules', '@actions', 'artifact', 'lib', 'artifact.js');
const { DefaultArtifactClient } = await import(pathToFileURL(entry));

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();

function fail(message) {
  console.log(`::error::${message}`);
  process.exit(1);
}

if (input('if-no-files-found') !== 'error') fail('only if-no-files-found: error is understood');
const target = input('path');
const found = fs.existsSync(target) ? fs.statSync(target) : undefined;
const names = found?.isDirectory() ? fs.readdirSync(target, { recursive: true }).map((name) => path.join(target, name)) : [target];
const files = found ? names.filter((name) => fs.statSync(name).isFile()) : [];
if (files.length === 0) fail(`No files were found with the provided path: ${target}`);
const skipArchive = input('archive') === 'false';
if (skipArchive && files.length !== 1) fail('without an archive, exactly one file is uploaded');
const options = { skipArchive };
if (input('retention-days')) options.retentionDays = Number(input('retention-days'));
const root = found.isDirectory() ? target : path.dirname(target);
try {
  const { id } = await new DefaultArtifactClient().uploadArtifact(input('name'), files, root, options);
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run } = process.env;
  const url = `${server}/${repository}/actions/runs/${run}/artifacts/${id}`;
  fs.appendFileSync(process.env.GITHUB_OUTPUT, `artifact-id=${id}\nartifact-url=${url}\n`);
} catch (error) {
  fail(error.message);
}
process.exit(0);
