import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { type RunningService, startService } from './services.ts'

// The console reads at most 16 MiB of an answer. The attributes of a page of products may be more than that together.

let auth: RunningService
let inventory: RunningService
let test: TestConsole
const [ROWS, FILLER_LENGTH] = [25, 2_097_152]
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  await inventory.query(
    `INSERT INTO inventory.products (sku, attributes)
      SELECT 'LARGE-' || n, jsonb_build_object('filler', repeat('x', $1)) FROM generate_series(1, $2) n ORDER BY n`,
    [FILLER_LENGTH, ROWS],
  )
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const newestFirst = Array.from({ length: ROWS }, (_, index) => `LARGE-${ROWS - index}`)

it('200: lists products whose attributes have 50 MiB together, each with their length', async () => {
  const page = await (await test.signedIn('viewer')).open('/products')
  const rows = newestFirst.map((sku) => `${sku} 2,097,166 bytes 0 0 TIME`)
  expect([page.status, withoutTimes(page.text)]).toEqual([
    200,
    `Products SKU, or words of attributes Filter SKU Attributes Available On hand Created ↓ ${rows.join(' ')}`,
  ])
})

it('200: finds products whose attributes have 2 MiB each', async () => {
  const page = await (await test.signedIn('viewer')).open('/search?q=LARGE-1')
  const hits = [1, 10, 11, 12, 13, 14, 15, 16, 17, 18].map((n) => `LARGE-${n} ${n} product`)
  const text = `Results for “LARGE-1” Products ${hits.join(' ')} 10 shown, more in the list`
  expect([page.status, page.text]).toEqual([200, text])
})
