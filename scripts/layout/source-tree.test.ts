import { expect, it } from 'vitest'
import { writeShop } from './shop-tree.ts'
import { productionFiles, readSourceTree, serviceNames } from './source-tree.ts'

const pathsOf = (files: readonly { readonly path: string }[]) => files.map(({ path }) => path)

it('reads sources and documents, but nothing installed, generated or hidden', () => {
  const read = pathsOf(readSourceTree(writeShop()).files)
  const more = {
    'docs/shop.md': '',
    'migrations/shop/functions/buy.sql': '',
    'scripts/install.mjs': '',
    'services/shop/node_modules/zod/zod.ts': '',
    'coverage/a.ts': '',
    'packages/database/dist/connect.ts': '',
    'logs/a.md': '',
    '.github/a.md': '',
    'docs/picture.svg': '',
    'package.json': '{}',
  }
  expect(pathsOf(readSourceTree(writeShop(more)).files).sort()).toEqual(
    [...read, 'docs/shop.md', 'migrations/shop/functions/buy.sql', 'scripts/install.mjs'].sort(),
  )
})

it('separates production code from tests and what only tests import', () => {
  const more = {
    'services/shop/test/a.ts': '',
    'services/shop/src/a.test.ts': '',
    'services/shop/src/routes/test/a.ts': '',
    'services/shopping/src/a.ts': '',
  }
  const tree = readSourceTree(writeShop(more))
  expect(pathsOf(productionFiles(tree, 'services/shop/src/routes', 'services/shop/src/app.ts'))).toEqual([
    'services/shop/src/app.ts',
    'services/shop/src/routes/items.ts',
    'services/shop/src/routes/test/a.ts',
  ])
  expect(pathsOf(productionFiles(tree, 'services'))).toEqual(
    pathsOf(tree.files.filter(({ path }) => /^services\/.*\/src\/.*(?<!test)\.ts$/.test(path))),
  )
})

it('knows services by their sources', () => {
  const more = { 'services/bank/src/app.ts': '', 'services/README.md': '', 'services/old/README.md': '' }
  expect(serviceNames(readSourceTree(writeShop(more)))).toEqual(['bank', 'shop'])
})
