import { expect, it } from 'vitest'
import { importCycles } from './import-cycles.ts'
import { problemsOf } from './shop-tree.ts'

const folder = 'packages/database/src'
const [a, b, c] = [`${folder}/a.ts`, `${folder}/b.ts`, `${folder}/c.ts`]

it.each([
  ["import { b } from './b.ts'", "import { a } from './a.ts'"],
  ["import type { B } from './b.ts'", "import type { A } from './a.ts'"],
  ["export { b } from './b.ts'", "export * from './a.ts'"],
  ["export const b = () => import('./b.ts')", "import '@trestle/database/a.ts'"],
])('refuses two files that import each other: %s, %s', async (first, second) => {
  expect(await problemsOf(importCycles, { [a]: `${first}\n`, [b]: `${second}\n` })).toEqual([
    `${a} imports itself: ${a} → ${b} → ${a}`,
    `${b} imports itself: ${b} → ${a} → ${b}`,
  ])
})

it('names the shortest way of each file of a longer cycle', async () => {
  const files = {
    [a]: "import './b.ts'\nimport './c.ts'\n",
    [b]: "import './c.ts'\n",
    [c]: "import './a.ts'\n",
    [`${folder}/d.ts`]: "import './a.ts'\n",
  }
  expect(await problemsOf(importCycles, files)).toEqual([
    `${a} imports itself: ${a} → ${c} → ${a}`,
    `${b} imports itself: ${b} → ${c} → ${a} → ${b}`,
    `${c} imports itself: ${c} → ${a} → ${c}`,
  ])
})

it('refuses a file that imports itself, and a cycle of tests', async () => {
  const test = 'services/shop/test/a.ts'
  expect(await problemsOf(importCycles, { [a]: "import './a.ts'\n", [test]: "import './a.ts'\n" })).toEqual([
    `${a} imports itself: ${a} → ${a}`,
    `${test} imports itself: ${test} → ${test}`,
  ])
})

it('allows two ways to one file', async () => {
  const files = { [a]: "import './b.ts'\nimport './c.ts'\n", [b]: "import './c.ts'\n", [c]: "import 'zod'\n" }
  expect(await problemsOf(importCycles, files)).toEqual([])
})
