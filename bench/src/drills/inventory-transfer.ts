import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type BenchService, openBench } from '../bench.ts'
import { readCount, report, say } from '../program.ts'
import type { Server } from '../servers/server.ts'

// Moves products from one database to another and back, and kills the service during imports: `node
// bench/src/drills/inventory-transfer.ts [products] [kills]`, 100,000 and 20 by default. The products must arrive unchanged, with
// less than 200 MiB of memory. After a kill, the stored batches must be complete and in order. Otherwise the exit status is 1.

const BATCH_ROWS = 500
const RESIDENT_MIB_MAX = 200
const SAMPLE_MS = 50

const products = readCount('products', 100_000)
const kills = Number(process.argv[3] ?? 20)
const FORMATS = [
  { format: 'csv', type: 'text/csv' },
  { format: 'ndjson', type: 'application/x-ndjson' },
] as const
const TEXTS = ['', 'plain', 'ä\u2028\u{1f9e6}', 'a,"b"\n\t', '\\u0001\\\\', '=1+1', '\ufeff', 'ｆｕｌｌ']
const problems: string[] = []
const Products = z.array(z.object({ sku: z.string(), attributes: z.string() }))
const Stored = z.object({ stored: z.number(), last: z.string().nullable() })

await using bench = await openBench()
const { folder } = bench
const file = join(folder, 'products.ndjson')
await pipeline(Readable.from(randomProducts(products)), createWriteStream(file))
const open = (databaseName: string) => bench.deploy('inventory', { databaseName })
const sent = await runRoundTrip(await open('transfer_a'), [await open('transfer_b'), await open('transfer_c')])
await killImports(await open('transfer_killed'))
report(problems, 'the products arrived as they were sent')

/**
 * Imports the file into the first database, exports it as CSV and as NDJSON, and imports these files into the other databases.
 * @returns a digest of all databases
 */
async function runRoundTrip(source: BenchService, targets: readonly BenchService[]): Promise<string> {
  const server = await source.start()
  await measure('import of NDJSON', server, () => importFile(server, file, 'application/x-ndjson'))
  const digestOfSource = await digest(source)
  for (const [at, { format, type }] of FORMATS.entries()) {
    const exported = join(folder, `exported.${format}`)
    await measure(`export of ${format}`, server, async () => {
      const response = await fetch(`${server.url}/products/export?format=${format}`)
      await pipeline(Readable.fromWeb(response.body ?? new ReadableStream()), createWriteStream(exported))
    })
    const target = targets[at]
    if (target === undefined) continue
    const other = await target.start()
    await measure(`import of ${format}`, other, () => importFile(other, exported, type))
    await other.stop()
    if ((await digest(target)) !== digestOfSource)
      problems.push(`the products of ${format} did not arrive as they were sent`)
  }
  await server.stop()
  return digestOfSource
}

/** Kills imports in the middle, and continues each with `skip`. */
async function killImports(target: BenchService): Promise<void> {
  for (let kill = 1; kill <= kills; kill += 1) {
    const server = await target.start()
    const before = await readStored(target)
    const importing = importFile(server, file, 'application/x-ndjson', 'skip').catch(() => undefined)
    await delay(100 + Math.random() * 1_500)
    await server.kill()
    await importing
    const { stored, isPrefix } = await readStored(target)
    say(`kill ${kill}: ${stored} products, ${stored - before.stored} of them new`)
    if (stored % BATCH_ROWS !== 0 && stored !== products)
      problems.push(`kill ${kill} left a part of a batch: ${stored} products`)
    if (!isPrefix) problems.push(`kill ${kill} left a hole in the order of the file`)
    // If everything is stored, start again from the beginning.
    if (stored === products) await target.execute('TRUNCATE inventory.products CASCADE')
  }
  const server = await target.start()
  await importFile(server, file, 'application/x-ndjson', 'skip')
  await server.stop()
  if ((await digest(target)) !== sent)
    problems.push('the products of the continued import are not those that were sent')
}

/** Runs a step, and prints its time and the server's memory. */
async function measure(name: string, server: Server, run: () => Promise<unknown>): Promise<void> {
  let most = 0
  const sampler = setInterval(() => {
    most = Math.max(most, server.residentMib() ?? 0)
  }, SAMPLE_MS)
  const startMs = performance.now()
  await run()
  const seconds = (performance.now() - startMs) / 1_000
  clearInterval(sampler)
  say(`${name}: ${seconds.toFixed(1)} s, ${Math.round(products / seconds)} products/s, at most ${most.toFixed(0)} MiB`)
  if (most > RESIDENT_MIB_MAX) problems.push(`${name} took ${most.toFixed(0)} MiB`)
}

async function importFile(server: Server, file: string, type: string, mode = 'upsert'): Promise<void> {
  const response = await fetch(`${server.url}/products/import?mode=${mode}`, {
    method: 'POST',
    headers: { 'content-type': type, accept: 'application/x-ndjson' },
    body: createReadStream(file),
    duplex: 'half',
  })
  const last = (await response.text()).trimEnd().split('\n').at(-1) ?? ''
  if (!last.includes('"type":"summary"') || !last.includes('"failed":0')) problems.push(`an import ended with ${last}`)
}

async function digest({ execute }: BenchService): Promise<string> {
  const hash = createHash('sha256')
  const rows = Products.parse(
    await execute('SELECT sku, attributes::text AS attributes FROM inventory.products ORDER BY sku'),
  )
  for (const { sku, attributes } of rows) hash.update(`${sku}\n${attributes}\n`)
  return `${rows.length} ${hash.digest('hex')}`
}

/**
 * SKUs are numbers in the order of the file, so the stored ones must be a prefix. Use one statement, because PostgreSQL may still
 * finish work of the killed process.
 */
async function readStored({ execute }: BenchService): Promise<{ readonly stored: number; readonly isPrefix: boolean }> {
  const [row] = await execute('SELECT count(*)::int AS stored, max(sku) AS last FROM inventory.products')
  const { stored, last } = Stored.parse(row)
  return { stored, isPrefix: stored === 0 || last === skuOf(stored - 1) }
}

function skuOf(n: number): string {
  return `P-${String(n).padStart(8, '0')}`
}

function* randomProducts(count: number): Generator<string> {
  for (let n = 0; n < count; n += 1) yield `{"sku":"${skuOf(n)}","attributes":${randomJson(0)}}\n`
}

/** Random JSON text with an object at the top and with numbers that JavaScript cannot represent. */
function randomJson(depth: number): string {
  const kind = depth === 0 ? 5 : Math.floor(Math.random() * (depth > 3 ? 4 : 6))
  if (kind === 0) return pick(['true', 'false', 'null'])
  if (kind === 1)
    return `${Math.random() < 0.5 ? '-' : ''}${pick(['0', '12345678901234567890123'])}.${pick(['10', '0', '5'])}`
  if (kind === 2) return pick(['1e20', '0', '-7', '340282366920938463463374607431768211456'])
  if (kind === 3) return JSON.stringify(pick(TEXTS) + Math.random().toString(36))
  const size = Math.floor(Math.random() * 4) + (depth === 0 ? 1 : 0)
  const items = Array.from({ length: size }, () => randomJson(depth + 1))
  if (kind === 4) return `[${items.join(',')}]`
  return `{${items.map((item, at) => `${JSON.stringify(`${pick(TEXTS)}${at}`)}:${item}`).join(',')}}`
}

function pick(values: readonly string[]): string {
  return values[Math.floor(Math.random() * values.length)] ?? ''
}
