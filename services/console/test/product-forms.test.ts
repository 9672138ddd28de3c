import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainText, type SeenPage } from './browser.ts'
import { openStubConsole, type StubConsole } from './stub-console.ts'

// A form that is sent as it came changes nothing, whatever attributes a product has.

/** The JSON of the attributes of the product. */
let attributes = '{}'
let opened: StubConsole
beforeAll(async () => {
  const stock = { onHand: 0, reserved: 0, available: 0 }
  const product = { id: 1, sku: 'MUG', version: 3, createdAt: '2026-01-01', updatedAt: '2026-01-01', stock }
  opened = await openStubConsole({
    inventory: () => ({
      body: `{"statusCode":200,"data":${JSON.stringify(product).slice(0, -1)},"attributes":${attributes}}}`,
    }),
  })
})
afterAll(() => opened.close())

const EDIT = '/products/1/edit'

/** The fields of the form of a product, as a browser sends them. */
function fieldsOf({ html }: SeenPage): (readonly [string, string])[] {
  const form = html.split('<form').find((part) => part.includes('name="sku"')) ?? ''
  return [...form.matchAll(/<(?:input|textarea) ([^>]*)>(?:\n([^<]*)<\/textarea>)?/g)].map(([, about = '', text]) => {
    const givenIn = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(about)?.[1] ?? ''
    const value = (text ?? givenIn('value')).replaceAll(/&[#\w]+;/g, plainText)
    return [
      givenIn('name'),
      text === undefined ? value.replaceAll(/[\r\n]/g, '') : value.replaceAll('\n', '\r\n'),
    ] as const
  })
}

/** Opens the form for these attributes and sends it as it came. @returns how the page edits, and the attributes that are sent */
async function saveUnchanged(json: string, path = EDIT) {
  attributes = json
  const page = await opened.browser.open(path)
  const before = opened.changes().length
  const saved = await opened.browser.post(EDIT, fieldsOf(page))
  const [put] = opened.changes().slice(before)
  const sent: unknown = put && JSON.parse(JSON.parse(put.body).attributes)
  return { status: saved.firstStatus, edited: /name="as" value="(\w+)"/.exec(page.html)?.[1], sent, page }
}

const numbered = (length: number, value: unknown = 1) =>
  JSON.stringify(Object.fromEntries(Array.from({ length }, (_, at) => [`a${at}`, value])))

describe('the form of a product that is sent as it came', () => {
  it.each([
    ['497 attributes', numbered(497)],
    ['600 attributes', numbered(600)],
    ['as many attributes as inventory takes', numbered(1_000, 'two words')],
  ])('303: keeps %s', async (_what, json) => {
    const { status, edited, sent } = await saveUnchanged(json)
    expect([status, edited, sent]).toEqual([303, 'form', JSON.parse(json)])
  })

  it.each([
    ['many numbers on 26 levels', `{"a":${'['.repeat(25)}[${Array(20_000).fill(1).join()}]${']'.repeat(25)}}`],
    [
      'as many numbers on ten levels as a page would indent',
      `{"a":${'['.repeat(8)}[${Array(9_900).fill(1).join()}]${']'.repeat(8)}}`,
    ],
    ['long text beyond Latin', JSON.stringify({ a: '\u5b57'.repeat(21_000) })],
    ['a few attributes', '{"a":{"b":[1,2]}}'],
  ])('303: keeps attributes that are edited as JSON: %s', async (_what, json) => {
    const { status, edited, sent } = await saveUnchanged(json, `${EDIT}?as=json`)
    expect([status, edited, sent]).toEqual([303, 'json', JSON.parse(json)])
  })

  it.each([
    ['begin and end with blanks', '{" colour ":"red","size\u00a0":1,"\ufeffx":2}'],
    ['differ by a blank alone', '{"a":1,"a ":2," a":3}'],
    ['consist of a blank', '{" ":1}'],
  ])('303: keeps attributes whose names %s', async (_what, json) => {
    const { status, edited, sent } = await saveUnchanged(json)
    expect([status, edited, sent]).toEqual([303, 'form', JSON.parse(json)])
  })

  it.each([
    ['have a line break', '{"a\\nb":1}'],
    ['have a control character', '{"a\\u0007b":1}'],
    ['are empty', '{"":1}'],
  ])('303: edits attributes as JSON alone whose names %s', async (_what, json) => {
    const { status, edited, sent, page } = await saveUnchanged(json)
    expect([status, edited, page.html.includes('>Fields</a>'), sent]).toEqual([303, 'json', false, JSON.parse(json)])
  })

  it('303: edits attributes as JSON alone, of which a form would be too large', async () => {
    const json = numbered(13_300)
    const { status, edited, sent, page } = await saveUnchanged(json)
    expect([status, edited, page.html.includes('>Fields</a>'), sent]).toEqual([303, 'json', false, JSON.parse(json)])
  })
})
