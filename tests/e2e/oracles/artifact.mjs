// GitHub's own artifact client, for the tests that hold ours against it.
//   node artifact.mjs upload NAME ROOT FILE...
//   node artifact.mjs upload-file FILE
//   node artifact.mjs list
//   node artifact.mjs download ID FOLDER DIGEST
// Prints one JSON line at the end, marked so that the client's own lines don't matter.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const entry = path.join(process.env.ORACLES, 'node_modules', '@actions', 'artifact', 'lib', 'artifact.js');
const { DefaultArtifactClient } = await import(pathToFileURL(entry));

const client = new DefaultArtifactClient();
const [command, ...args] = process.argv.slice(2);
const commands = {
  upload: ([name, root, ...files]) => client.uploadArtifact(name, files, root),
  'upload-file': ([file]) => client.uploadArtifact('', [file], path.dirname(file), { skipArchive: true }),
  list: () => client.listArtifacts(),
  download: ([id, folder, digest]) => client.downloadArtifact(Number(id), { path: folder, expectedHash: digest }),
};
console.log(`RESULT ${JSON.stringify(await commands[command](args))}`);
process.exit(0);
