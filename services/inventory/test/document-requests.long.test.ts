import { inlineSchemas } from '@trestle/testing/inline-schemas.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildOpenApi } from '../src/openapi.ts'
import { envelopeOf, invalidBody, refusedBody } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

const FORM = 'application/x-www-form-urlencoded'

/** The document as clients read it. */
const document = JSON.parse(inlineSchemas(await buildOpenApi()))
const bodyOf = (path: string, type = 'application/json') => document.paths[path].post.requestBody.content[type].schema
const queryOf = (path: string, name: string) =>
  document.paths[path].get.parameters.find((each: { name: string }) => each.name === name).schema

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
  await post('/products', { sku: 'A', attributes: {} })
  for (const code of ['L1', 'L2']) await post('/locations', { code, name: code })
})
afterAll(() => inventory.close())

const send = (url: string, payload: object | string, type = 'application/json') =>
  inventory.app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload })

async function post(url: string, payload: object | string, type = 'application/json'): Promise<number> {
  return (await send(url, payload, type)).statusCode
}

const get = async (path: string, query: Record<string, string>) =>
  (await inventory.app.inject({ url: `${path}?${new URLSearchParams(query)}` })).statusCode

/** Whether a schema of texts takes a text, by its bounds and its pattern. */
function takes(text: string, { pattern = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY }): boolean {
  const { length } = [...text]
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(text)
}

const TEXTS = [
  'a',
  ' a ',
  'a b',
  '',
  ' ',
  '\t',
  'a\u0001',
  'a\u0085',
  'a\u0000',
  '\u0000',
  ' \n',
  'a\nb ',
  'x'.repeat(255),
  'x'.repeat(256),
  '🙂'.repeat(255),
  ',',
]

describe('the service', () => {
  it('takes as its document says each text as SKU of a product', async () => {
    const { sku } = bodyOf('/products').properties
    for (const text of TEXTS) {
      const isTaken = (await post('/products', { sku: text, attributes: {} })) === 201
      expect([text, isTaken]).toEqual([text, takes(text, sku)])
    }
  })

  it('takes as its document says each text as name of a location', async () => {
    const { name } = bodyOf('/locations').properties
    for (const [at, text] of TEXTS.entries()) {
      const isTaken = (await post('/locations', { code: `N${at}`, name: text })) === 201
      expect([text, isTaken]).toEqual([text, takes(text, name)])
    }
  })

  it.each([
    ['reason', { type: 'adjust', productId: 1, locationId: 2, delta: 1 }],
    ['reference', { type: 'receive', productId: 1, locationId: 2, quantity: 9, reason: 'a' }],
  ])('takes as its document says each text as %s of a movement', async (name, movement) => {
    const { properties } = document.components.schemas.MovementLine.oneOf.find((form: { properties: object }) =>
      Object.keys(movement).every((member) => member in form.properties),
    )
    for (const text of TEXTS) {
      const isTaken = (await post('/movements', { ...movement, [name]: text })) === 201
      expect([text, isTaken]).toEqual([text, takes(text, properties[name])])
    }
  })

  it('takes as its document says each text as reference of a reservation', async () => {
    await post('/movements', { type: 'receive', productId: 1, locationId: 2, quantity: 99 })
    const { reference } = bodyOf('/reservations').properties
    for (const text of TEXTS) {
      const isTaken =
        (await post('/reservations', { productId: 1, locationId: 2, quantity: 1, reference: text })) === 201
      expect([text, isTaken]).toEqual([text, takes(text, reference)])
    }
  })

  it.each(['sku', 'sku[in]', 'sku[prefix]', 'q', 'contains'])(
    'takes as its document says each text as filter %s',
    async (name) => {
      const schema = queryOf('/products', name)
      const texts = name === 'contains' ? ['{}', ' [1]', '"a"', '-1', 'null', '', 'x', '+1'] : TEXTS
      // The document has no bound for each SKU of a list.
      for (const text of texts.filter((each) => name !== 'sku[in]' || each.length < 256)) {
        const isTaken = (await get('/products', { [name]: text })) === 200
        expect([text, isTaken]).toEqual([text, takes(text, schema)])
      }
    },
  )

  it('takes as its document says each text as attributes of a product', async () => {
    const { attributes } = bodyOf('/products').properties
    for (const [at, text] of ['{}', ' [1]', '"a"', '-1', 'true', 'null', '', 'x', '+1'].entries()) {
      const isTaken = (await post('/products', { sku: `T${at}`, attributes: text })) === 201
      expect([text, isTaken]).toEqual([text, takes(text, attributes)])
    }
  })

  it('takes as its document says each word as boolean of a form', async () => {
    const [, { enum: words }] = bodyOf('/locations', FORM).properties.active.anyOf
    // An empty text is true, like a bare name. The document leaves it out, as it does other cases.
    for (const [at, word] of [...words, 'maybe', '+'].entries()) {
      const isTaken = (await post('/locations', `code=B${at}&name=a&active=${word}`, FORM)) === 201
      expect([word, isTaken]).toEqual([word, words.includes(word)])
    }
  })
})

it('takes as many paths for columns as the document says', async () => {
  const { maxItems } = queryOf('/products/export', 'flatten')
  const paths = Array.from({ length: maxItems + 1 }, (_, at) => `a${at}`)
  const ask = (flatten: readonly string[]) => get('/products/export', { format: 'csv', flatten: flatten.join() })
  expect([await ask(paths.slice(1)), await ask(paths)]).toEqual([200, 400])
})

it('takes any text as If-Match', async () => {
  const { schema } = document.paths['/products/{productId}'].delete.parameters.find(
    (each: { name: string }) => each.name === 'If-Match',
  )
  const headers = { 'if-match': 'no tag' }
  const answer = await inventory.app.inject({ method: 'DELETE', url: '/products/1', headers })
  expect([schema, envelopeOf(answer)]).toEqual([
    { type: 'string' },
    refusedBody(412, 'PRECONDITION_FAILED', 'The product was changed in the meantime.'),
  ])
})

describe('each form of a movement', () => {
  const values: Record<string, unknown> = {
    ...{ productId: 1, locationId: 1, fromLocationId: 1, toLocationId: 2 },
    ...{ quantity: 1, delta: 1, reason: 'a', reference: 'b', expectedOnHand: 1 },
  }
  const forms = document.components.schemas.MovementLine.oneOf.flatMap(
    ({
      properties,
      required,
    }: {
      properties: Record<string, { enum?: string[]; const?: string }>
      required: string[]
    }) =>
      (properties.type?.enum ?? [properties.type?.const]).map((type) => [
        type,
        { names: Object.keys(properties), required },
      ]),
  )

  it.each<[string, { readonly names: readonly string[]; readonly required: readonly string[] }]>(forms)(
    '%s has the members of the document, and needs those that are required',
    async (type, { names, required }) => {
      const lineOf = (members: readonly string[]) => ({
        ...Object.fromEntries(members.map((name) => [name, values[name]])),
        ...(members.includes('type') && { type }),
      })
      await post('/movements', { type: 'receive', productId: 1, locationId: 1, quantity: 100 })
      const line = lineOf(required)
      expect([await post('/movements', line), await post('/movements', { lines: [line] })]).toEqual([201, 201])
      for (const name of required) {
        const answer = await send('/movements', lineOf(required.filter((each) => each !== name)))
        expect(envelopeOf(answer)).toEqual(invalidBody(name, 'is required'))
      }
      const refused = await Promise.all(
        Object.keys(values).map(async (name) =>
          (await post('/movements', { ...line, [name]: values[name] })) === 400 ? [name] : [],
        ),
      )
      expect(refused.flat()).toEqual(Object.keys(values).filter((name) => !names.includes(name)))
    },
  )
})
