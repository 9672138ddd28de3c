import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCell, writeCell } from '../src/json/json-object.ts'
import { json, key } from './any-json.ts'
import { importReport, invalidBody } from './bodies.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

const importCsv = (payload: string, mode = 'upsert') =>
  inventory.app.inject({
    method: 'POST',
    url: `/products/import?mode=${mode}`,
    headers: { 'content-type': 'text/csv' },
    payload,
  })
const exportCsv = async (flatten: string) => {
  const response = await inventory.app.inject({ url: `/products/export?format=csv&${flatten}` })
  expect(response.statusCode, response.body).toBe(200)
  return response.body
}
const stored = () => inventory.query('SELECT sku, attributes::text FROM inventory.products ORDER BY sku')

/** Stores products, exports them with columns of their own, and imports the file over others of the same SKUs. */
async function roundTrip(attributes: readonly string[], flatten: string): Promise<string> {
  await inventory.query('DELETE FROM inventory.products')
  for (const [n, text] of attributes.entries()) {
    await inventory.query('INSERT INTO inventory.products (sku, attributes) VALUES ($1, $2::jsonb)', [`F-${n}`, text])
  }
  const before = await stored()
  const file = await exportCsv(flatten)
  await inventory.query(`UPDATE inventory.products SET attributes = '{"other":1}'`)
  const report = (await importCsv(file)).json()
  expect(report).toEqual({
    data: importReport({ received: attributes.length, updated: expect.any(Number), failed: 0 }),
    statusCode: 200,
  })
  expect(await stored()).toEqual(before)
  return file
}

describe('a flattened export', () => {
  it('is imported unchanged, with its types and with attributes that have no column', async () => {
    const odd = '{"ean":"4006381333931","b":"true","n":"null","code":"12E3","emp":"","arr":[1,"2"]}'
    const file = await roundTrip(
      [odd, '{"ean":4006381333931,"b":true,"n":null,"arr":"[1,2]","rest":{"k":0.10}}', '[1,{"b":"x"}]', '"true"', '{}'],
      'flatten=ean,b,n,code,emp,arr',
    )
    expect(file.split('\r\n').map((line) => line.replace(/^\d+,/, ''))).toEqual([
      'id,sku,attributes.ean,attributes.b,attributes.n,attributes.code,attributes.emp,attributes.arr,attributes',
      'F-0,"""4006381333931""","""true""","""null""",12E3,"""""","[1, ""2""]",',
      'F-1,4006381333931,true,null,,,"""[1,2]""","{""rest"": {""k"": 0.10}}"',
      'F-2,,,,,,,"[1, {""b"": ""x""}]"',
      'F-3,,,,,,,"""true"""',
      'F-4,,,,,,,',
      '',
    ])
  })

  it('keeps empty objects, and arrays whose places look like keys', async () => {
    await roundTrip(
      [
        '{"dim":{"w":1}}',
        '{"dim":{"w":1,"h":[{"w":2}]}}',
        '{"dim":5}',
        '{"dim":null}',
        '{"0":[7]}',
        '[7,8]',
        '{"dim":[9]}',
      ],
      'flatten=dim.w,0',
    )
  })

  it('is imported unchanged, whatever the attributes and columns are', async () => {
    const column = key.filter((name) => !name.includes(','))
    const columns = fc.uniqueArray(fc.tuple(column, fc.option(column)), {
      minLength: 1,
      maxLength: 4,
      selector: ([name]) => name,
    })
    const members = fc.uniqueArray(fc.tuple(key, json), { maxLength: 4, selector: ([name]) => name })
    const write = (list: readonly (readonly [string, string])[]) =>
      `{${list.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
    await fc.assert(
      fc.asyncProperty(
        columns,
        fc.array(fc.tuple(json, members), { minLength: 1, maxLength: 4 }),
        async (paths, values) => {
          const flatten = paths
            .map((path) =>
              path
                .filter((name) => name !== null)
                .map((name) => JSON.stringify(name))
                .join('.'),
            )
            .map((path) => `flatten=${encodeURIComponent(path)}`)
            .join('&')
          const products = values.flatMap(([value, others]) => {
            const own = paths.map(([outer, inner]): [string, string] => [
              outer,
              inner === null ? value : write([[inner, value]]),
            ])
            const rest = others.filter(([name]) => !paths.some(([outer]) => outer === name))
            return [value, write(own), write(rest), write([...own, ...rest])]
          })
          await roundTrip(
            products.filter((text) => text !== 'null'),
            flatten,
          )
        },
      ),
      { numRuns: 60 },
    )
  })

  it.each<[string, string]>([
    ['flatten=a,a', 'must not name a value twice, nor a value inside another one'],
    ['flatten=a,a.b', 'must not name a value twice, nor a value inside another one'],
    ['flatten=a..b', 'must be keys joined with dots'],
    [`flatten=${Array.from({ length: 98 }, (_, n) => `k${n}`).join()}`, 'must have at most 97 paths'],
  ])('400: refuses %s, which no file can have', async (flatten, message) => {
    const response = await inventory.app.inject({ url: `/products/export?format=csv&${flatten}` })
    expect(response.json()).toEqual(invalidBody('flatten', message))
  })
})

describe('an import with both kinds of columns', () => {
  it('merges the cells into the attributes', async () => {
    await inventory.query('DELETE FROM inventory.products')
    const file =
      'sku,attributes,attributes.a,attributes.d.w\nA,"{""a"":1,""big"":0.10}",2,\nB,,,x\nC,"{""d"":{""h"":1}}",,7\n'
    expect((await importCsv(file)).json()).toEqual({
      data: importReport({ received: 3, created: 3, failed: 0 }),
      statusCode: 200,
    })
    expect(await stored()).toEqual([
      { sku: 'A', attributes: '{"a": 2, "big": 0.10}' },
      { sku: 'B', attributes: '{"d": {"w": "x"}}' },
      { sku: 'C', attributes: '{"d": {"h": 1, "w": 7}}' },
    ])
  })

  it('refuses a column that leads through a value that is not an object, and attributes that are not JSON', async () => {
    const file = 'sku,attributes,attributes.d.w\nD,"{""d"":5}",1\nE,[1],1\nF,{bad,1\n'
    expect((await importCsv(file)).json().data).toEqual(
      importReport({
        received: 3,
        failed: 3,
        errors: [
          {
            line: 2,
            sku: 'D',
            description: 'attributes.d.w: leads through a value that is not an object',
            type: 'VALIDATION_ERROR',
          },
          {
            line: 3,
            sku: 'E',
            description: 'attributes.d.w: leads through a value that is not an object',
            type: 'VALIDATION_ERROR',
          },
          { line: 4, sku: 'F', description: 'attributes: must be JSON', type: 'VALIDATION_ERROR' },
        ],
      }),
    )
  })
})

it('a cell is read as the JSON from which it was written', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        // The database writes no number with an exponent, so no such number is written into a file.
        json.filter((text) => !/^-?\d+e/.test(text)),
        fc
          .constantFrom(
            '1',
            '12E3',
            '1e0',
            '-0',
            '007',
            '-1.50',
            'true',
            '',
            '"',
            '"a"',
            '[1]',
            '{}',
            '{a}',
            ' 1',
            '1 ',
          )
          .map((text) => JSON.stringify(text)),
      ),
      (value) => {
        const expected = value.startsWith('"') ? JSON.stringify(JSON.parse(value)) : value
        expect(readCell(writeCell(value))).toBe(expected)
      },
    ),
  )
})
