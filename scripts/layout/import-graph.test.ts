import { describe, expect, it } from 'vitest'
import { graphOf, importCycles, shortestWay } from './import-graph.ts'
import { problemsOf, treeOfShop } from './shop-tree.ts'

describe('graphOf and shortestWay', () => {
  const user = 'services/shop/src/items/user.ts'
  const files = {
    'services/shop/src/items/item.ts': '',
    'services/shop/src/item.test.ts': '',
    'packages/endpoints/src/endpoints.ts': '',
    'packages/endpoints/src/body/read.ts': '',
  }

  it.each([
    ['./item.ts', ['services/shop/src/items/item.ts']],
    ['../app.ts', ['services/shop/src/app.ts']],
    ['../item.test.ts', ['services/shop/src/item.test.ts']],
    ['@trestle/shop/app.ts', ['services/shop/src/app.ts']],
    ['@trestle/database/connect.ts', ['packages/database/src/connect.ts']],
    ['@trestle/endpoints', ['packages/endpoints/src/endpoints.ts']],
    ['@trestle/endpoints/body/read.ts', ['packages/endpoints/src/body/read.ts']],
    ['@trestle/migrations/shop.ts', ['migrations/shop.ts']],
    ['./gone.ts', []],
    ['kysely', []],
  ])('finds the file of %s', (specifier, targets) => {
    const text = `import type { X } from '${specifier}'\nexport { y } from '${specifier}'\n`
    expect(graphOf(treeOfShop({ ...files, [user]: text })).get(user)).toEqual(targets)
  })

  it.each([
    ['a', 'b', ['a', 'b']],
    ['a', 'd', ['a', 'c', 'd']],
    ['a', 'a', ['a', 'c', 'a']],
    ['b', 'a', undefined],
  ])('finds the shortest way from %s to %s', (start, end, way) => {
    const steps: Readonly<Record<string, readonly string[]>> = {
      a: ['b', 'c'],
      b: ['e'],
      c: ['d', 'a'],
      d: ['c'],
      e: ['b'],
    }
    expect(
      shortestWay(
        start,
        (path) => steps[path] ?? [],
        (path) => path === end,
      ),
    ).toEqual(way)
  })
})

describe('importCycles', () => {
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
})
