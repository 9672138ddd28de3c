import { posix } from 'node:path'
import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { smallFolders } from './small-folders.ts'

const src = 'services/shop/src'
const filesIn = (folder: string, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`${folder}/${name}.ts`, '']))

it.each([
  [['cart'], 1],
  [['cart', 'line'], 2],
  [['cart', 'line', 'cart.test', 'test/line'], 2],
])('refuses a folder of %j', async (names, count) => {
  for (const folder of [`${src}/carts`, `${src}/testing`, 'packages/database/src/driver']) {
    expect(await problemsOf(smallFolders, filesIn(folder, ...names))).toEqual([
      `${folder} holds ${count} of at least 3 files`,
    ])
  }
})

it('refuses a small folder in a large one', async () => {
  const folder = `${src}/items/prices`
  expect(await problemsOf(smallFolders, filesIn(folder, 'price'))).toEqual([`${folder} holds 1 of at least 3 files`])
})

it('counts the files of folders below', async () => {
  const files = { ...filesIn(`${src}/carts`, 'cart'), ...filesIn(`${src}/carts/lines`, 'a', 'b', 'c') }
  expect(await problemsOf(smallFolders, files)).toEqual([])
})

it.each([
  `${src}/routes/admin`,
  `${src}/controllers`,
  `${src}/use-cases`,
  `${src}/oauth/providers`,
  `${src}/sms/gateways`,
  `${src}/config`,
  `${src}/commands`,
])('allows one file in %s', async (folder) => {
  const parent = folder.replace(/\/[^/]+$/, '')
  const files = { ...filesIn(folder, 'one'), ...(parent === src ? {} : filesIn(parent, 'a', 'b', 'c')) }
  expect(await problemsOf(smallFolders, files)).toEqual([])
})

it.each([
  'bench/src/load',
  'scripts/dashboards',
  'scripts/test',
  'examples/shop/browser',
  'packages/common/test',
  'packages/endpoints/examples/crates',
  `${src}/../test`,
])('refuses %s with one file', async (folder) => {
  const path = posix.normalize(folder)
  expect(await problemsOf(smallFolders, filesIn(path, 'one'))).toEqual([`${path} holds 1 of at least 3 files`])
})

it('counts test files in a folder of tests', async () => {
  const folder = 'services/shop/test'
  expect(await problemsOf(smallFolders, filesIn(folder, 'a', 'b.test', 'c.test'))).toEqual([])
  expect(await problemsOf(smallFolders, filesIn(folder, 'b.test', 'c.test'))).toEqual([
    `${folder} holds 2 of at least 3 files`,
  ])
})

it.each(['packages/database/patches', 'packages/endpoints/bin'])(
  'ignores %s, which is outside sources',
  async (folder) => {
    expect(await problemsOf(smallFolders, filesIn(folder, 'one'))).toEqual([])
  },
)
