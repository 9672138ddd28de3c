import { expect, it } from 'vitest'
import { importsOf, visitSyntax } from './syntax.ts'

const file = (text: string) => ({ path: 'a.ts', text })

it.each([
  [
    "import { a, type B, c as d } from 'x'",
    'x',
    { names: ['a', 'c'], typeNames: ['B'], isWhole: false, isType: false },
  ],
  ["import a from 'x'", 'x', { names: [], isWhole: true, isType: false }],
  ["import * as a from 'x'", 'x', { names: [], isWhole: true, isType: false }],
  ["import 'x'", 'x', { names: [], isWhole: false, isType: false }],
  ["import type { A } from 'x'", 'x', { names: ['A'], isWhole: false, isType: true }],
  ["export { a as b } from 'x'", 'x', { names: ['a'], isWhole: false, isType: false }],
  ["export type { A } from 'x'", 'x', { names: ['A'], isWhole: false, isType: true }],
  ["export * from 'x'", 'x', { names: [], isWhole: true, isType: false }],
  ["export type * from 'x'", 'x', { names: [], isWhole: true, isType: true }],
  ["const a = import('x')", 'x', { names: [], isWhole: true, isType: false }],
  ["type A = import('x').B<C>", 'x', { names: [], isWhole: true, isType: true }],
  ['const a = import(x)', '', { names: [], isWhole: true, isType: false }],
])('finds the import of %s', (text, specifier, expected) => {
  expect(importsOf(file(`\n${text}\n`))).toEqual([{ specifier, line: 2, typeNames: [], ...expected }])
})

it('finds no import in an export of its own', () => {
  expect(importsOf(file('const a = 1\nexport { a }\n'))).toEqual([])
})

it('refuses a file that cannot be parsed, and names it', () => {
  expect(() => visitSyntax(file('const = 1\n'), {})).toThrow(/^a\.ts: /)
})
