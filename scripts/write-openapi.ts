// Writes docs/openapi/<service>.json from the schemas of the routes. A service sends this file to clients, and a test compares it
// with the routes. Each service exports `buildOpenApi(): Promise<object>` from src/openapi.ts, which needs no database.
import { once } from 'node:events'
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'openapi')

/** The services that have an API document. */
export const documentedServices: readonly string[] = globSync('*/src/openapi.ts', { cwd: join(root, 'services') }).map(
  (path) => path.split('/')[0] ?? '',
)

/** The file of the document that a service sends to clients. */
export function documentFile(service: string): string {
  return join(folder, `${service}.json`)
}

/**
 * Builds the document in a separate thread, because schemas are registered by name for the whole thread. In one thread, a service
 * would get schemas of another.
 */
export async function buildDocument(service: string): Promise<unknown> {
  const path = join(root, 'services', service, 'src', 'openapi.ts')
  const worker = new Worker(new URL('build-openapi.ts', import.meta.url), { workerData: path })
  const [document] = await once(worker, 'message')
  await worker.terminate()
  return document
}

if (import.meta.main) {
  mkdirSync(folder, { recursive: true })
  for (const service of documentedServices)
    writeFileSync(documentFile(service), `${JSON.stringify(await buildDocument(service), null, 2)}\n`)
  // Modules of the services may keep timers or sockets open.
  process.exit()
}
