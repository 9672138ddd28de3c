// Writes docs/openapi/<service>.json from the zod schemas of the routes; `--check` compares instead, and fails on a
// difference. Each service exports `buildOpenApi(): Promise<object>` from src/openapi.ts, which needs no database.
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'openapi')

/**
 * Builds the document in a thread of its own: schemas are registered by name for a whole thread, so a service would get those
 * of another.
 */
async function buildDocument(service: string): Promise<unknown> {
  const path = join(root, 'services', service, 'src', 'openapi.ts')
  const worker = new Worker(new URL('build-openapi.ts', import.meta.url), { workerData: path })
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

/** The path of the first difference between two JSON values, such as `paths./users.get`; undefined when they are equal. */
export function firstDifference(left: unknown, right: unknown, path: readonly string[] = []): string | undefined {
  if (Object.is(left, right)) return undefined
  if (!isObject(left) || !isObject(right) || Array.isArray(left) !== Array.isArray(right)) {
    return path.join('.') || 'its root'
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const difference = firstDifference(left[key], right[key], [...path, key])
    if (difference !== undefined) return difference
  }
  return undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  let differing = 0
  if (!values.check) mkdirSync(folder, { recursive: true })
  for (const app of globSync('*/src/app.ts', { cwd: join(root, 'services') })) {
    const [service = ''] = app.split('/')
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
  // The services' modules may keep timers or sockets open.
  process.exit(differing > 0 ? 1 : 0)
}
