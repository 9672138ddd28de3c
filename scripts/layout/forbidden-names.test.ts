import { expect, it } from 'vitest'
import { forbiddenNames } from './forbidden-names.ts'
import { problemsOf } from './shop-tree.ts'

it.each(['index', 'utils', 'util', 'helpers', 'helper', 'misc', 'shared', 'types'])(
  'refuses a file, its test or a folder called %s',
  async (word) => {
    const folder = 'packages/database/src'
    for (const path of [`${folder}/${word}.ts`, `${folder}/${word}.test.ts`, `${folder}/${word}/text.ts`]) {
      expect(await problemsOf(forbiddenNames, { [path]: 'export {}\n' })).toEqual([
        `${path} "${word}" names no subject; call it by what it holds`,
      ])
    }
  },
)

it.each([
  ['services/shop/src/controllers/index.ts', 0],
  ['services/shop/src/controllers/carts/index.ts', 0],
  ['services/shop/src/controllers/utils.ts', 1],
  ['services/shop/src/items/index.ts', 1],
  ['packages/database/src/index-names.ts', 0],
  ['docs/index.md', 0],
])('refuses in %s so many names: %i', async (path, count) => {
  expect(await problemsOf(forbiddenNames, { [path]: 'export {}\n' })).toHaveLength(count)
})
