// Runs in a worker thread. Posts the API document of the service whose `openapi.ts` is `workerData`.
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

const path = String(workerData)
const module: { buildOpenApi?: unknown } = await import(pathToFileURL(path).href)
if (typeof module.buildOpenApi !== 'function') throw new Error(`${path} exports no function buildOpenApi`)
// A message cannot contain functions, which a schema may have.
const document: unknown = JSON.parse(JSON.stringify(await module.buildOpenApi()))
parentPort?.postMessage(document)
