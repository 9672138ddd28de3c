import { describe, expect, it } from 'vitest'
import type { MovementType } from '../products/product-view.ts'
import { locationPage, type MovePlace, movementOf, movePage, type TypedMovement } from './stock-forms.ts'

const TYPED: TypedMovement = {
  type: 'receive',
  product: 7,
  location: 1,
  to: undefined,
  quantity: '5',
  expectedOnHand: 3,
  reason: '',
  reference: '',
}

describe('movementOf', () => {
  it.each<[string, Partial<TypedMovement>, object]>([
    ['a receipt', {}, { type: 'receive', productId: 7, locationId: 1, quantity: 5 }],
    ['a shipment', { type: 'ship' }, { type: 'ship', productId: 7, locationId: 1, quantity: 5 }],
    [
      'a count, with what the form has shown as on hand',
      { type: 'count', quantity: '0' },
      { type: 'count', productId: 7, locationId: 1, quantity: 0, expectedOnHand: 3 },
    ],
    [
      'a transfer, with both locations',
      { type: 'transfer', to: 2 },
      { type: 'transfer', productId: 7, fromLocationId: 1, toLocationId: 2, quantity: 5 },
    ],
    [
      'an adjustment, as a difference',
      { type: 'adjust', quantity: '-2', reason: 'broken' },
      { type: 'adjust', productId: 7, locationId: 1, delta: -2, reason: 'broken' },
    ],
    [
      'a reason and a reference, as texts',
      { reason: '0', reference: 'PO 1' },
      { type: 'receive', productId: 7, locationId: 1, quantity: 5, reason: '0', reference: 'PO 1' },
    ],
  ])('sends %s', (_what, changes, expected) => {
    expect(movementOf({ ...TYPED, ...changes })).toEqual(expected)
  })

  it.each([
    ['0', 0],
    ['-0', -0],
    ['007', 7],
    ['+5', 5],
    ['-5', -5],
    ['999999999999999', 999_999_999_999_999],
  ])('sends the integer %j as the number %j', (quantity, number) => {
    expect(movementOf({ ...TYPED, quantity }).quantity).toBe(number)
  })

  it.each(['1.5', '1e3', '0x10', '1,000', '1 000', '--5', '٣', 'many', 'Infinity', '9007199254740993', '1'.repeat(20)])(
    'leaves %j to inventory as it was typed',
    (quantity) => {
      expect(movementOf({ ...TYPED, quantity }).quantity).toBe(quantity)
    },
  )

  it('sends no quantity where none was typed', () => {
    expect(JSON.stringify(movementOf({ ...TYPED, quantity: '' }))).toBe(
      '{"type":"receive","productId":7,"locationId":1}',
    )
  })
})

const LOCATIONS = [
  { id: 1, code: 'SHELF', name: 'Shelf', active: true },
  { id: 2, code: 'YARD', name: '<b>Yard</b>', active: true },
] as const
const place = (type: MovementType): MovePlace => ({
  type,
  product: { id: 7, sku: 'MUG' },
  location: LOCATIONS[0],
  level: { onHand: 3, reserved: 1, available: 2 },
  locations: LOCATIONS,
})
const PROOF = { csrf: 'c', key: 'k' }
const SENT = { quantity: '9', reason: 'broken', reference: 'PO 1', to: '2', expectedOnHand: undefined }
const hiddenOf = (html: string) =>
  Object.fromEntries([...html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, ...pair]) => pair))
const namesOf = (html: string) => [...html.matchAll(/<(?:input|select) id="(\w+)"/g)].map(([, name]) => name)

describe('movePage', () => {
  it.each([
    ['viewer', []],
    ['support', ['Receive', 'Count', 'Transfer']],
    ['admin', ['Receive', 'Count', 'Transfer', 'Ship', 'Adjust']],
  ] as const)('offers the movements that the role %s may make', (role, expected) => {
    const { html } = movePage(place('receive'), { role, proof: PROOF }).main
    const [, tabs = ''] = /<nav[^>]*aria-label="Movement"[^>]*>(.*?)<\/nav>/s.exec(html) ?? []
    expect([...tabs.matchAll(/<a[^>]*>([^<]+)<\/a>/g)].map(([, label]) => label)).toEqual(expected)
  })

  it.each([
    ['receive', ['quantity', 'reason', 'reference']],
    ['transfer', ['quantity', 'to', 'reason', 'reference']],
  ] as const)('asks for what the movement %s needs', (type, expected) => {
    expect(namesOf(movePage(place(type), { role: 'admin', proof: PROOF }).main.html)).toEqual(expected)
  })

  it('offers a transfer to every location but its own', () => {
    const { html } = movePage(place('transfer'), { role: 'admin', proof: PROOF }).main
    expect([...html.matchAll(/<option[^>]*>([^<]*)</g)].map(([, text]) => text)).toEqual([
      'YARD – &lt;b&gt;Yard&lt;/b&gt;',
    ])
  })

  it('demands a reason for an adjustment alone', () => {
    const demands = (['receive', 'count', 'transfer', 'ship', 'adjust'] as const).filter((type) =>
      /<input id="reason"[^>]* required/.test(movePage(place(type), { role: 'admin', proof: PROOF }).main.html),
    )
    expect(demands).toEqual(['adjust'])
  })

  it.each([
    ['what is on hand now', {}, '3'],
    ['what is on hand now after a refusal', { sent: SENT }, '3'],
    ['what was sent, for a retry with the same key', { sent: { ...SENT, expectedOnHand: 2 } }, '2'],
  ])('carries %s as the expected quantity', (_what, changes, expected) => {
    const { html } = movePage(place('count'), { role: 'admin', proof: PROOF, ...changes }).main
    expect(hiddenOf(html)).toEqual({
      _csrf: 'c',
      _key: 'k',
      type: 'count',
      product: '7',
      location: '1',
      expectedOnHand: expected,
    })
  })

  it.each([
    ['adjust', 'delta', 'quantity'],
    ['transfer', 'toLocationId', 'to'],
    ['count', 'reason', 'reason'],
  ] as const)('marks the field of a refused %s whose member is %s', (type, field, expected) => {
    const problem = { message: 'Wrong.', field }
    const { html } = movePage(place(type), { role: 'admin', proof: PROOF, problem }).main
    expect([...html.matchAll(/ name="(\w+)"[^>]* aria-invalid="true"/g)].map(([, name]) => name)).toEqual([expected])
  })

  it('keeps what was typed, says what is wrong, and marks the field that is to blame', () => {
    const { html } = movePage(place('transfer'), {
      role: 'admin',
      proof: PROOF,
      sent: SENT,
      problem: { message: 'Too few.', field: 'quantity' },
    }).main
    expect(html).toContain('<p class="alert" id="problem" role="alert">Too few.</p>')
    expect(/<input id="(\w+)"[^>]* aria-invalid="true" aria-describedby="problem">/.exec(html)?.[1]).toBe('quantity')
    expect([...html.matchAll(/<input id="(\w+)"[^>]* value="([^"]*)"/g)].map(([, ...pair]) => pair)).toEqual([
      ['quantity', '9'],
      ['reason', 'broken'],
      ['reference', 'PO 1'],
    ])
    expect(html).toContain('<option value="2" selected="selected">')
  })
})

describe('locationPage', () => {
  const FIELDS = { code: 'YARD', name: '"Yard"', active: false }

  it('sends a new location to the list, without a version', () => {
    const { main, title } = locationPage(FIELDS, { proof: PROOF })
    expect([title, /<form method="post" action="([^"]+)"/.exec(main.html)?.[1], hiddenOf(main.html)]).toEqual([
      'New location',
      '/locations/new',
      { _csrf: 'c', _key: 'k' },
    ])
  })

  it('sends a change with the version that it was filled in for', () => {
    const { main, title } = locationPage(FIELDS, { proof: PROOF }, { id: 2, etag: '"l2-1"', shown: 'Yard' })
    expect([title, /<form method="post" action="([^"]+)"/.exec(main.html)?.[1], hiddenOf(main.html)]).toEqual([
      'Change YARD',
      '/locations/2',
      { _csrf: 'c', _key: 'k', etag: '&quot;l2-1&quot;', shown: 'Yard' },
    ])
  })
})
