import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { importReport } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

/** The curl commands of the README's first run, as method, path and body. */
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const commands = [...readme.matchAll(/^curl "\$INVENTORY_URL(\/[^\s"]*)"(?: .*-d '(.*)')?$/gm)].map(
  ([, url = '', body]) => [body === undefined ? 'GET' : 'POST', url, body] as const,
)

it('every command of the first run succeeds, in the order of the README', async () => {
  expect(commands).toHaveLength(4)
  let productId = ''
  for (const [method, url, body] of commands) {
    const response = await inventory.app.inject({
      method,
      url,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        payload: body.replace('<product id>', productId),
      }),
    })
    expect([url, response.statusCode]).toEqual([url, method === 'GET' ? 200 : 201])
    if (url === '/products') productId = String(response.json().data.id)
  }
})

const reference = readFileSync(new URL('../../../docs/reference/inventory.md', import.meta.url), 'utf8')
const [created = '', report = '', ...others] = [...reference.matchAll(/^```json\n(.*?)^```$/gms)].map(
  ([, text = '']) => text,
)
const Created = z.object({ statusCode: z.literal(201), data: z.object({ id: z.int(), message: z.string() }) })
const Report = z.object({ statusCode: z.literal(200), data: z.looseObject({ received: z.int() }) })

it('confirms a product as the reference says', async () => {
  const example = Created.parse(JSON.parse(created))
  const response = await inventory.app.inject({
    method: 'POST',
    url: '/products',
    payload: { sku: 'B', attributes: {} },
  })
  const { id } = Created.parse(response.json()).data
  const message = example.data.message.replace(String(example.data.id), String(id))
  expect(response.json()).toEqual({ ...example, data: { id, message } })
})

it('reports an import as the reference says', async () => {
  const example = Report.parse(JSON.parse(report))
  const response = await inventory.app.inject({
    method: 'POST',
    url: '/products/import',
    headers: { 'content-type': 'application/x-ndjson' },
    payload: '{"sku":"A","attributes":{}}\n{"sku":"A","attributes":{}}\n',
  })
  const { durationMs: _, ...counts } = example.data
  expect(response.json()).toEqual({ ...example, data: importReport(counts) })
})

it('every example of the reference is compared', () => expect(others).toEqual([]))

it('the quick start reserves stock, by curl and by fetch', async () => {
  const document = readFileSync(new URL('../../../docs/quick-start/reserve-stock.md', import.meta.url), 'utf8')
  const known: Record<string, string> = {}
  const fill = (text: string) => text.replaceAll(/<(\w+ id)>/g, (_, name: string) => known[name] ?? expect.fail(name))
  const [, file = ''] = /^```csv\n(.*?)^```$/ms.exec(document) ?? []
  const send = (
    method: 'DELETE' | 'GET' | 'POST',
    url: string,
    payload: string | undefined,
    type = 'application/json',
  ) =>
    inventory.app.inject({
      method,
      url,
      ...(payload === undefined ? {} : { headers: { 'content-type': type }, payload }),
    })
  const statuses: number[] = []
  const bodies: unknown[] = []
  const files: string[] = []
  const levels: unknown[] = []
  for (const [command] of document.matchAll(/^curl .*$/gm)) {
    const [, url = '', verb, type, json] =
      /^curl "\$INVENTORY_URL([^\s"]+)"(?: -X (DELETE))?(?: -H 'content-type: (\S+)' .*?(?:-d '(.*)')?)?$/.exec(
        fill(command),
      ) ?? []
    const payload = type === 'text/csv' ? file : json
    const method = verb === 'DELETE' ? verb : payload === undefined ? 'GET' : 'POST'
    const answer = await send(method, url, payload, type)
    statuses.push(answer.statusCode)
    if (url.startsWith('/products/')) files.push(answer.body)
    if (answer.body === '' || url.startsWith('/products/')) continue
    bodies.push(answer.json())
    if (answer.statusCode >= 400 || url.startsWith('/movements?')) continue
    const { data } = Answered.parse(answer.json())
    const [, name] = /^\/(product|location|reservation)s$/.exec(url) ?? []
    for (const one of [data].flat()) {
      if (name !== undefined) known[`${name} id`] = String(one.id)
      if (method === 'GET') levels.push([one.onHand, one.reserved, one.available])
    }
  }
  expect(statuses).toEqual([201, 201, 201, 200, 409, 200, 204, 200, 201, 201, 201, 200, 200, 200, 200])
  const [report = '', exported] = files
  expect(JSON.parse(report).data).toEqual(importReport({ received: 2, created: 2 }))
  expect(exported?.replaceAll(/^\d+,/gm, '')).toContain(
    'QUICK-START-M,red,"{""cm"": 52}",\r\nQUICK-START-L,blue,54,\r\n',
  )
  expect(levels).toEqual([
    [10, 2, 8],
    [9, 0, 9],
    [1, 0, 1],
  ])
  const asIfFirst = (text: string) => text.replaceAll(new RegExp(`\\b${known['product id']}\\b`, 'g'), '1')
  const [product, refusal, ...otherAnswers] = [...document.matchAll(/^```json\n(.*?)^```$/gms)].map(
    ([, text = '']): unknown => JSON.parse(text),
  )
  expect(JSON.parse(asIfFirst(JSON.stringify(bodies[0])))).toEqual(product)
  expect(bodies[4]).toEqual(refusal)
  expect(otherAnswers).toEqual([])
  const { data: rows } = Movements.parse(bodies.at(-1))
  expect(rows.map(({ type }) => type)).toEqual([
    'count',
    'ship',
    'transfer',
    'transfer',
    'release',
    'ship',
    'reserve',
    'receive',
  ])
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(document) ?? []
  const printed: unknown[] = []
  const call = async (url: string, { body }: { readonly body: string }) => {
    const answer = await send('POST', new URL(url).pathname, body)
    return { status: answer.statusCode, text: async () => answer.body }
  }
  const log = (words: readonly string[]) => printed.push(words.toSorted())
  const process = { env: { INVENTORY_URL: 'http://inventory' } }
  await new Function('fetch', 'console', 'process', `return (async () => {${fill(code)}})()`)(call, { log }, process)
  expect(printed).toEqual([['reserved', 'sold out']])
})

const Values = z.object({ id: z.int(), onHand: z.int(), reserved: z.int(), available: z.int() }).partial()
const Movements = z.object({ data: z.array(z.object({ type: z.string() })) })
const Answered = z.object({ data: z.union([Values, z.array(Values)]) })
