import { expect, it } from 'vitest'
import { decisions } from './decisions.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'docs/decisions/0001-sell-apples.md'
const text = '# 1. Sell apples\n\n## Context\n\n## Decision\n\n## Rejected\n\n## Consequences\n'
const index = 'docs/decisions/README.md'
const row = '| [0001](0001-sell-apples.md) | Sell apples |'

it('accepts a decision with its sections and its row, and any other page', async () => {
  const files = { [path]: text, [index]: `# Decisions\n\n${row} They keep |\n`, 'docs/shop.md': '# Shop\n' }
  expect(await problemsOf(decisions, files)).toEqual([])
})

it.each(['Context', 'Decision', 'Rejected', 'Consequences'])('refuses a decision without %s', async (title) => {
  const files = { [path]: text.replace(`## ${title}\n`, `### ${title}\n`), [index]: `${row} They keep |\n` }
  expect(await problemsOf(decisions, files)).toEqual([`${path} has no section "## ${title}"`])
})

it.each([
  ['no row', '# Decisions\n'],
  ['another title', '| [0001](0001-sell-apples.md) | Sell pears |  |\n'],
  ['another file', '| [0001](0001-sell-pears.md) | Sell apples |  |\n'],
])('refuses an index with %s', async (_case, rows) => {
  expect(await problemsOf(decisions, { [path]: text, [index]: rows })).toEqual([`${index} has no row ${row}`])
})
