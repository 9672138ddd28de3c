import { expect, it } from 'vitest'
import { titledCallsOf } from './test-tags.ts'

const read = (text: string) =>
  titledCallsOf({ path: 'a.test.ts', text }).map(({ isGroup, title, form, start, titleEnd, end }) => ({
    ...{ isGroup, title, form },
    ...{ call: text.slice(start, end), rest: text.slice(titleEnd, end) },
  }))

it.each([
  ["it('adds', add)", { isGroup: false, title: 'adds', form: 'text', rest: ', add)' }],
  ["it('it\\'s added', add)", { isGroup: false, title: "it's added", form: 'text', rest: ', add)' }],
  ["test.skipIf(slow)('adds', add)", { isGroup: false, title: 'adds', form: 'text', rest: ', add)' }],
  ["it.concurrent.each(sums)('adds %i', add)", { isGroup: false, title: 'adds %i', form: 'text', rest: ', add)' }],
  ["describe.each(['a'])('the cart %s', add)", { isGroup: true, title: 'the cart %s', form: 'text', rest: ', add)' }],
  ['it(`adds $' + '{sum}`, add)', { isGroup: false, title: 'adds $' + '{sum}', form: 'template', rest: ', add)' }],
  ['it(titles.sum, add)', { isGroup: false, title: 'titles.sum', form: 'expression', rest: ', add)' }],
])('finds the title of %s', (call, expected) => {
  expect(read(`const a = 1\n${call}\n`)).toEqual([{ ...expected, call }])
})

it('puts a group before its tests', () => {
  const titles = read("describe('carts', () => {\n  it('adds', add)\n  it('counts', count)\n})\n").map(
    ({ title }) => title,
  )
  expect(titles).toEqual(['carts', 'adds', 'counts'])
})

it.each([
  "item('adds')",
  "format('%s')",
  "it.each('adds')",
  'it()',
  "exit('adds')",
  "carts.test('adds')",
  "test.post('/items')",
])('finds no test in %s', (call) => {
  expect(read(call)).toEqual([])
})
