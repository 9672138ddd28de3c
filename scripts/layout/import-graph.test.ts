import { expect, it } from 'vitest'
import { graphOf, shortestWay } from './import-graph.ts'
import { treeOfShop } from './shop-tree.ts'

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
