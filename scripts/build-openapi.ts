// Runs in a thread of its own: posts the API document of the service whose openapi.ts is `workerData`.
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

const path = String(workerData)
const module: { buildOpenApi?: unknown } = await import(pathToFileURL(path).href)
if (typeof module.buildOpenApi !== 'function') throw new Error(`${path} exports no function buildOpenApi`)
// Once through JSON: what is compared is what is written.
parentPort?.postMessage(JSON.parse(JSON.stringify(await module.buildOpenApi())))
