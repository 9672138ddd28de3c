import { openBench } from '../bench.ts'
import { listPages, PAGE_ROWS, request } from '../fixtures.ts'
import { readCount, say, timesOf } from '../program.ts'
import { median } from '../statistics.ts'

// Measures how long it takes to find products among a million: `node bench/src/speed/inventory-size.ts [products]`. It requests
// pages at any depth, an attribute of one product in a thousand, words and SKUs. The results are medians of 20 over HTTP, on an
// idle machine. The exit status is 1 if one takes longer than its target (inventory reference: Performance targets).

const ROUNDS = 20
const PAGE_MS = 10
const FILTER_MS = 30

const products = readCount('products', 1_000_000)
if (products < PAGE_ROWS * 4) throw new Error('too few products to measure anything')
await using bench = await openBench()
const inventory = await bench.deploy('inventory')
await inventory.runCommand('seed', '--products', String(products))
await inventory.execute('VACUUM ANALYZE')
const server = await inventory.serve()
const pages = await listPages(server.url)
for (const share of [0, 0.25, 0.5, 0.75, 0.99]) {
  const page = pages[Math.floor(share * pages.length)] ?? '/products'
  await measure(`page of 50 at ${share * 100} %`, server.url + page.replace(`limit=${PAGE_ROWS}`, 'limit=50'), PAGE_MS)
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

async function measure(name: string, url: string, allowedMs: number): Promise<void> {
  const typical = median(await timesOf(ROUNDS, () => request(url)))
  const isSlow = typical > allowedMs
  if (isSlow) process.exitCode = 1
  say(`${name}: ${typical.toFixed(1)} ms${isSlow ? `, more than ${allowedMs} ms` : ''}`)
}
