import { expect, it } from 'vitest'
import { charters } from './charters.ts'
import { problemsOf } from './shop-tree.ts'

const manifest = { 'packages/database/package.json': '{ "description": "The one way to PostgreSQL" }' }

it('accepts a README that begins with the charter', async () => {
  const readme = '# Database\n\nThe one way to PostgreSQL.\n\nMore.\n'
  expect(await problemsOf(charters, { ...manifest, 'packages/database/README.md': readme })).toEqual([])
})

it.each([
  ['another charter', '# Database\n\nHelpers for PostgreSQL.\n'],
  ['no charter', '# Database\n'],
  ['no README', undefined],
])('refuses %s', async (_, readme) => {
  expect(await problemsOf(charters, { ...manifest, 'packages/database/README.md': readme })).toEqual([
    'packages/database/README.md does not begin with the charter: The one way to PostgreSQL.',
  ])
})

it('refuses a package without a description', async () => {
  expect(await problemsOf(charters, { 'packages/database/package.json': '{}' })).toEqual([
    'packages/database/package.json has no description: say what the package is for',
  ])
})
