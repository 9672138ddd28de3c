import { expect, it } from 'vitest'
import { decisions } from './decisions.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'docs/decisions/0001-sell-apples.md'
const text = '# 1. Sell apples\n\n## Context\n\n## Decision\n\n## Rejected\n\n## Consequences\n'

it('accepts a decision with its sections, and any other page', async () => {
  expect(await problemsOf(decisions, { [path]: text, 'docs/decisions/README.md': '# Decisions\n' })).toEqual([])
})

it.each(['Context', 'Decision', 'Rejected', 'Consequences'])('refuses a decision without %s', async (title) => {
  expect(await problemsOf(decisions, { [path]: text.replace(`## ${title}\n`, `### ${title}\n`) })).toEqual([
    `${path} has no section "## ${title}"`,
  ])
})
