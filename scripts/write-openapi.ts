// Writes docs/openapi/<service>.json from the zod schemas of the routes; `--check` compares instead and fails when they
// differ. Each service exports `buildOpenApi(): Promise<object>` from src/openapi.ts; it needs no database.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { firstDifference } from './openapi/first-difference.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'openapi')

async function buildDocument(service: string): Promise<unknown> {
  const path = join(root, 'services', service, 'src', 'openapi.ts')
  const module: { buildOpenApi?: unknown } = await import(pathToFileURL(path).href)
  if (typeof module.buildOpenApi !== 'function') throw new Error(`${path} exports no function buildOpenApi`)
  // Once through JSON: what is compared is what is written.
  return JSON.parse(JSON.stringify(await module.buildOpenApi()))
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
