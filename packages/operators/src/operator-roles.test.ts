import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { lowerRole, mayDo, OPERATOR_ACTIONS } from './operator-roles.ts'

it('the actions and their lowest roles are those of the reference, in its order', async () => {
  const page = await readFile(new URL('../../../docs/reference/console.md', import.meta.url), 'utf8')
  const section = page.split('\n## Actions\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (\w+) \|/gm)].map(([, action, role]) => [action, role])
  expect(rows).toEqual(Object.entries(OPERATOR_ACTIONS))
})

it.each([
  ['viewer', 'users.read', true],
  ['viewer', 'users.ban', false],
  ['viewer', 'transactions.void', false],
  ['support', 'users.read', true],
  ['support', 'users.ban', true],
  ['support', 'transactions.void', false],
  ['admin', 'users.read', true],
  ['admin', 'users.ban', true],
  ['admin', 'transactions.void', true],
] as const)('whether a %s may do %s is %j', (role, action, expected) => {
  expect(mayDo(role, action)).toBe(expected)
})

it('the lower of two roles is the one that may do less', () => {
  expect([lowerRole('admin', 'viewer'), lowerRole('support', 'admin'), lowerRole('viewer', 'viewer')]).toEqual([
    'viewer',
    'support',
    'viewer',
  ])
})
