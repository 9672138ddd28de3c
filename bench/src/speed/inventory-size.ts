import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { request } from '../fixtures.ts'
import { createBenchFolder } from '../program.ts'
import { execute, openDatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import { median } from '../statistics.ts'

// Measures how long it takes to find products among a million: `node bench/src/speed/inventory-size.ts [products]`. It asks for
// pages at any depth, an attribute that one product of a thousand has, words and SKUs, and takes medians of 20 over HTTP, on
// an idle machine. Exit status 1 when one takes longer than its target (inventory reference: Performance targets).

const ROUNDS = 20
const WALK_LIMIT = 500
const PAGE_MS = 10
const FILTER_MS = 30

const products = Number(process.argv[2] ?? 1_000_000)
if (!Number.isInteger(products) || products < WALK_LIMIT * 4) throw new Error('too few products to measure anything')
const folder = createBenchFolder()

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_inventory_size')
  const deployment = await deploy('inventory', { folder, databaseUrl, env: {} })
  await deployment.runCommand('seed', '--products', String(products))
  await execute(databaseUrl, 'VACUUM ANALYZE')
  const server = await deployment.start()
  started.defer(server.stop)
  const pages = await walk(server.url)
  for (const share of [0, 0.25, 0.5, 0.75, 0.99]) {
    const page = pages[Math.floor(share * pages.length)] ?? '/products'
    await measure(
      `page of 50 at ${share * 100} %`,
      server.url + page.replace(`limit=${WALK_LIMIT}`, 'limit=50'),
      PAGE_MS,
    )
  }
  const deep = `SAMPLE-${String(Math.floor(products * 0.9)).padStart(8, '0')}`
  for (const [name, query] of [
    ['attribute of one in a thousand', 'attributes.size=42'],
    ['attribute, in reverse', 'attributes.size=42&sort=-id'],
    ['attribute of one in five', 'attributes.color=red'],
    ['two attributes', 'attributes.size=42&attributes.color=red'],
    ['containment', `contains=${encodeURIComponent('{"tags":["batch-7"]}')}`],
    ['word', `q=${products - 1}`],
    ['beginning of a sku', `q=${deep.slice(0, -2).toLowerCase()}`],
    ['sku', `sku=${deep}`],
  ] as const) {
    await measure(name, `${server.url}/products?${query}`, FILTER_MS)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The addresses of all pages of the list. */
async function walk(url: string): Promise<readonly string[]> {
  const pages: string[] = []
  for (let next: string | undefined = `/products?limit=${WALK_LIMIT}`; next !== undefined; ) {
    pages.push(next)
    const { headers } = await request(url + next)
    next = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]
  }
  return pages
}

async function measure(name: string, url: string, allowedMs: number): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const startMs = performance.now()
    await request(url)
    times.push(performance.now() - startMs)
  }
  const typical = median(times)
  const isSlow = typical > allowedMs
  if (isSlow) process.exitCode = 1
  console.log(`${name}: ${typical.toFixed(1)} ms${isSlow ? `, more than ${allowedMs} ms` : ''}`)
}
