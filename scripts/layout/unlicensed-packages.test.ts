import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { unlicensedPackages } from './unlicensed-packages.ts'

const message = 'depends on @paylike/request, which declares no licence: only tests and examples may use it'

const path = 'services/shop/package.json'

it.each([
  [path, { devDependencies: { '@paylike/request': 'catalog:' } }, false],
  [path, { dependencies: { '@paylike/sdk': 'catalog:' } }, false],
  [path, { dependencies: { '@paylike/request': 'catalog:' } }, true],
  [path, { optionalDependencies: { '@paylike/request': '3.0.2' } }, true],
  [path, { peerDependencies: { '@paylike/request': '3.0.2' } }, true],
  ['package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
  ['migrations/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
  ['packages/database/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
  ['examples/shop/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, false],
])('a package without a licence in %s, %j, is refused: %j', async (file, manifest, isRefused) => {
  const problems = await problemsOf(unlicensedPackages, { [file]: JSON.stringify({ name: 'shop', ...manifest }) })
  expect(problems).toEqual(isRefused ? [`${file} ${message}`] : [])
})
