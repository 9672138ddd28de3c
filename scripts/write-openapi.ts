// Writes docs/openapi/<service>.json from the zod schemas of the routes; `--check` compares instead and fails when they
// differ. Each service exports `buildOpenApi(): Promise<object>` from src/openapi.ts; it needs no database.
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { firstDifference } from './openapi/first-difference.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'openapi')

/** In a thread of its own: named schemas are registered for a whole thread, and one service's would show in the next. */
async function buildDocument(service: string): Promise<unknown> {
  const path = join(root, 'services', service, 'src', 'openapi.ts')
  const worker = new Worker(new URL('openapi/build-document.ts', import.meta.url), { workerData: path })
  const [document] = await once(worker, 'message')
  await worker.terminate()
  return document
}

function readDocument(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
let differing = 0
if (!values.check) mkdirSync(folder, { recursive: true })
for (const service of globSync('*/src/app.ts', { cwd: join(root, 'services') }).map(
  (path) => path.split('/')[0] ?? '',
)) {
  const document = await buildDocument(service)
  const path = join(folder, `${service}.json`)
  if (!values.check) {
    writeFileSync(path, `${JSON.stringify(document, null, 2)}\n`)
    continue
  }
  const difference = firstDifference(document, readDocument(path))
  if (difference === undefined) continue
  differing += 1
  console.error(`docs/openapi/${service}.json differs from the routes at ${difference}; run: pnpm openapi`)
}
// The services' modules may hold timers or sockets open.
process.exit(differing > 0 ? 1 : 0)
