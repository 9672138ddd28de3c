import { expect, it } from 'vitest'
import { packageTables } from './package-tables.ts'
import { problemsOf } from './shop-tree.ts'

const readme = 'packages/tills/README.md'
const sources = {
  'packages/tills/src/till.ts': '',
  'packages/tills/src/till.test.ts': '',
  'packages/tills/src/coins/coin.ts': '',
}

it('refuses a README that leaves out a file or a folder of its package', async () => {
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `till.ts` | a till |\n' })).toEqual([
    `${readme} does not name \`coins/\` of its src`,
  ])
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `coins/` | coins, and till.ts |\n' })).toEqual([
    `${readme} does not name \`till.ts\` of its src`,
  ])
})

it('allows a README that names them all, and leaves tests out', async () => {
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `till.ts`, `coins/` | a till |\n' })).toEqual([])
})

it('leaves the README of the published package to those who install it', async () => {
  const core = { 'packages/endpoints/src/core.ts': '', 'packages/endpoints/README.md': '' }
  expect(await problemsOf(packageTables, core)).toEqual([])
})
