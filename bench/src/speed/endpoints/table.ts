// Measures how fast URLs are resolved and arguments bound, how long a large application takes to start, and how much memory a
// million requests leave allocated. Start it with --expose-gc. It prints JSON.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noKeywords } from '@trestle/endpoints/binding/keywords.ts'
import { readOptions } from '@trestle/endpoints/config/options.ts'
import { buildTable } from '@trestle/endpoints/discovery/build-table.ts'
import { Application, Controller } from '@trestle/endpoints/endpoints.ts'
import { resolve } from '@trestle/endpoints/routing/resolve.ts'
import { parseTarget } from '@trestle/endpoints/routing/target.ts'
import type { TableFigures } from './main.ts'

const FEW = 10
const MANY = 10_000
const CLASSES = 10
const CALLS = 200_000
const BATCHES = 20
const MODULES = 1_000
const REQUESTS = 1_000_000

class Item extends Controller {
  GET(first: string, second: string) {
    return [first, second]
  }
}

/**
 * Uses processor time and the best of several batches, so that other work on the machine does not count. Each table gets the same
 * number of URLs, spread over it, so that the result measures the table and not the processor's cache.
 */
function resolutionsPerSecond(routes: number): number {
  const modules = Array.from({ length: routes / CLASSES }, (_, i) => ({
    path: ['api', `module${i}`],
    source: `module${i}`,
    exports: Object.fromEntries(Array.from({ length: CLASSES }, (_, j) => [`Class${j}`, class extends Item {}])),
  }))
  const { root } = buildTable(modules, readOptions({}))
  const paths = Array.from({ length: CLASSES }, (_, i) => {
    const module = Math.floor((i * modules.length) / CLASSES)
    return parseTarget(`/api/module${module}/class${i}/first/second`, { allowEncodedSlash: false }).parts
  })
  let best = 0
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const before = process.cpuUsage()
    for (let call = 0; call < CALLS; call += 1) {
      const found = resolve(root, 'GET', paths[call % CLASSES] ?? [])
      if (found.verdict !== 'found') throw new Error(found.verdict)
      found.route.binding.bind(found.positionals, noKeywords)
    }
    const { user, system } = process.cpuUsage(before)
    best = Math.max(best, CALLS / ((user + system) / 1_000_000))
  }
  return best
}

/** Starts an application from files, like `endpoints --prefix`. */
async function startOfManyModules(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'endpoints-'))
  try {
    const framework = import.meta.resolve('@trestle/endpoints/endpoints.ts')
    const text = `import { Controller } from '${framework}'\nexport class Default extends Controller { GET(id, { q = '' } = {}) { return id + q } }\n`
    mkdirSync(join(folder, 'controllers'))
    for (let i = 0; i < MODULES; i += 1) writeFileSync(join(folder, `controllers/module${i}.mjs`), text)
    const startMs = performance.now()
    await new Application({ dir: folder }).ready()
    return performance.now() - startMs
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureHeapGrowth(): Promise<number> {
  const app = await new Application({ modules: { index: { Item } } }).ready()
  const ask = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i += 1) await app.fetch(new Request(`http://localhost/item/${i}/x`))
    globalThis.gc?.()
    return process.memoryUsage().heapUsed / 2 ** 20
  }
  // Warm up first, because code and caches grow initially, which is not a leak.
  const before = await ask(REQUESTS / 10)
  return (await ask(REQUESTS)) - before
}

const figures: TableFigures = {
  perSecond: { few: resolutionsPerSecond(FEW), many: resolutionsPerSecond(MANY) },
  startMs: await startOfManyModules(),
  growthMib: await measureHeapGrowth(),
}
process.stdout.write(JSON.stringify(figures))
