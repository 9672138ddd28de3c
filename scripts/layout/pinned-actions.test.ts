import { expect, it } from 'vitest'
import { pinnedActions } from './pinned-actions.ts'
import { problemsOf } from './shop-tree.ts'

const commit = 'a'.repeat(40)

it.each([
  [`  - uses: actions/checkout@${commit} # v4.2.2`, undefined],
  [`    uses: actions/cache/save@${commit} # v4.2.2`, undefined],
  ['  - uses: ./.github/actions/own', undefined],
  [`  - uses: docker/build-push-action@${commit}`, `docker/build-push-action@${commit}`],
  [`  - uses: actions/checkout@${commit} # main`, `actions/checkout@${commit} # main`],
  [`  - uses: actions/checkout@${commit.slice(1)} # v4.2.2`, `actions/checkout@${commit.slice(1)} # v4.2.2`],
  ['  - uses: actions/checkout@v4', 'actions/checkout@v4'],
  ['    uses: actions/checkout@v4', 'actions/checkout@v4'],
])('finds in the line %s the unpinned action %s', async (line, action) => {
  const path = '.github/workflows/ci.yml'
  const problems = action === undefined ? [] : [`${path}:2 names ${action} by no commit with its version`]
  expect(await problemsOf(pinnedActions, { [path]: `steps:\n${line}\n` })).toEqual(problems)
})
