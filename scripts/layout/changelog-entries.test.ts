import { expect, it } from 'vitest'
import { changelogEntries } from './changelog-entries.ts'
import { problemsOf } from './shop-tree.ts'

const read = (text: string) => problemsOf(changelogEntries, { 'CHANGELOG.md': text })

it('refuses an entry of more than 300 characters, at its line', async () => {
  expect(await read(`# Changelog\n\n- ${'x'.repeat(299)}\n`)).toEqual([
    'CHANGELOG.md:3 the entry has 301 characters, not 300: give each of its subjects an entry',
  ])
})

it('allows an entry of 300 characters, and a longer paragraph', async () => {
  expect(await read(`- ${'x'.repeat(298)}\n\n${'x'.repeat(400)}\n`)).toEqual([])
})

it('reads no lists of other documents', async () => {
  expect(await problemsOf(changelogEntries, { 'README.md': `- ${'x'.repeat(400)}\n` })).toEqual([])
})
