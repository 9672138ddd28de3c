import { expect, it } from 'vitest'
import { smallFolders } from './small-folders.ts'
import { problemsOf } from './test/shop-tree.ts'

const src = 'services/shop/src'
const filesIn = (folder: string, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`${folder}/${name}.ts`, '']))

it.each([
  [['cart'], 1],
  [['cart', 'line'], 2],
  [['cart', 'line', 'cart.test', 'test/line'], 2],
])('refuses a folder of %j', async (names, count) => {
  for (const folder of [`${src}/carts`, `${src}/testing`, 'packages/database/src/driver-like']) {
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
  'packages/database/src/driver',
  'packages/database/src/driver/parts',
])('allows one file in %s', async (folder) => {
  const parent = folder.replace(/\/[^/]+$/, '')
  const files = { ...filesIn(folder, 'one'), ...(parent === src ? {} : filesIn(parent, 'a', 'b', 'c')) }
  expect(await problemsOf(smallFolders, files)).toEqual([])
})

it('ignores folders outside services and packages', async () => {
  const files = { ...filesIn('bench/src/load', 'pace'), ...filesIn('packages/database/examples', 'one') }
  expect(await problemsOf(smallFolders, files)).toEqual([])
})

it('excepts the folders of its list', async () => {
  const folder = `${src}/carts`
  const list = { 'scripts/layout/exceptions/small-folders.json': JSON.stringify([folder]) }
  expect(await problemsOf(smallFolders, { ...list, ...filesIn(folder, 'cart') })).toEqual([])
})
