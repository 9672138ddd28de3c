import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { uncheckedInput } from './unchecked-input.ts'

const path = 'services/shop/src/items/price.ts'
const test = 'services/shop/src/items/price.test.ts'
const schema = 'parse it with a schema, or call it unknown'
const stated = `states the type of JSON: ${schema}`
const returned = `returns JSON without a check: ${schema}`
const handed = `hands JSON on without a check: ${schema}`
const boxed = 'Object(…) is any, which switches the compiler off: narrow the value, or parse it with a schema'
const shaped = 'states the members of a value: parse it with a schema, or give its source a type'
const member = 'Reflect.get(…) is any, which switches the compiler off: call it unknown, or parse it with a schema'
const read = `reads JSON without a check: ${schema}`

it.each([
  ['const price = JSON.parse(text) as Price', stated],
  ['const price = (JSON.parse(text)) as Price', stated],
  ['const price = (await response.json()) as Price', stated],
  ['sell(response.json() as any[])', 'any switches the compiler off: use unknown', stated],
  ['const price: Price = JSON.parse(text)', read],
  ['const { price }: Item = await response.json()', read],
  ['const { price } = JSON.parse(text)', read],
  ['const price = JSON.parse(text)', read],
  ['const { price } = JSON.parse(text).item', read],
  ['sell((await response.json()).price)', read],
  ['sell(response.json<Price>())', stated],
  ['const read = (text: string): Price => JSON.parse(text)', returned],
  ['const read = (text: string) => JSON.parse(text)', returned],
  ['async function read(): Promise<Price> { return response.json() }', returned],
  ['function read(): unknown { return till((): Price => JSON.parse(text)) }', returned],
  ['const till = { read(): Price { try { return JSON.parse(text) } catch { return none } } }', returned],
  ['export const sell = (price: any) => price', 'any switches the compiler off: use unknown'],
  ['const price: Price = identity(JSON.parse(text))', handed],
  ['const till = new Till(JSON.parse(text))', handed],
  ['sell(await response.json(), (JSON.parse(text)))', handed, handed],
  ['const { price } = Object(item)', boxed],
  ['const { price } = row as { price: string }', shaped],
  ['const [{ price }] = rows as readonly { price: string }[]', shaped],
  ["const price = Reflect.get(item, 'price')", member],
  ["const price: Price = Reflect.get(item, 'price') ?? none", member],
  ["const read = (item: object): Price => (hasPrice ? Reflect.get(item, 'price') : none)", member],
  ["const prices = { ...Reflect.get(item, 'prices') }", member],
  ["sell(Reflect.get(item, 'price').amount)", member],
])('refuses %s', async (text, ...messages) => {
  const problems = await problemsOf(uncheckedInput, { [path]: `${text}\n` })
  expect(problems.toSorted()).toEqual(messages.map((message) => `${path}:1 ${message}`))
})

it.each([
  'const price: unknown = JSON.parse(text)',
  'const price = JSON.parse(text) as unknown',
  'const price = Price.parse(JSON.parse(text))',
  'const price = Price.parse(await response.json())',
  'const price = Price.safeParse(JSON.parse(text)).data',
  'const text = String(JSON.parse(json))',
  'const Prices = z.array(z.json())',
  'const page = c.json({ price: 1 }) as Page',
  'const url = URL.parse(text) as URL',
  'const prices = [1, 2] as const',
  'const names = Object.keys(prices)',
  'const names = Object.keys(prices) as Name[]',
  "const price: unknown = Reflect.get(item, 'price') ?? null",
  "const price = Price.parse(Reflect.get(item, 'price'))",
  "const read = (item: object): unknown => (hasPrice ? Reflect.get(item, 'price') : undefined)",
  'const parse = (text: string): unknown => JSON.parse(text)',
  'async function read(): Promise<unknown> { return response.json() }',
  'function read(): Price { return Price.parse(load((): unknown => JSON.parse(text))) }',
])('allows %s', async (text) => {
  expect(await problemsOf(uncheckedInput, { [path]: `${text}\n` })).toEqual([])
})

it('lets tests read what they compare', async () => {
  expect(await problemsOf(uncheckedInput, { [test]: 'const { price } = response.json()\n' })).toEqual([])
})

it.each([
  ['const price = response.json() as Price', stated],
  ['const price: any = 1', 'any switches the compiler off: use unknown'],
  ['const { price } = Object(item)', boxed],
  ['const { price } = row as { price: string }', shaped],
])('refuses %s in tests too', async (text, message) => {
  expect(await problemsOf(uncheckedInput, { [test]: `${text}\n` })).toEqual([`${test}:1 ${message}`])
})
