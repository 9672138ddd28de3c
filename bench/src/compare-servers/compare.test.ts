import { expect, it } from 'vitest'
import { type Accepted, compare, reportLines, unusedEntries } from './compare.ts'
import type { Json, Observation } from './step.ts'

const seen = (step: string, value: Json): Observation => ({ at: `round / subject / ${step}`, kind: 'answer', value })
const entry = (more: Partial<Accepted> = {}): Accepted => ({ at: '*', path: 'body.a', reason: 'on purpose', ...more })
const theirs = [seen('one', { status: 200, body: { a: 1, same: [1, 2] } })]
const ours = [seen('one', { status: 200, body: { same: [1, 3] } })]

it('finds each member that differs, also one that is missing', () => {
  expect(compare(theirs, ours, []).unlisted).toEqual([
    { at: 'round / subject / one', path: 'body.a', theirs: 1, ours: undefined },
    { at: 'round / subject / one', path: 'body.same.1', theirs: 2, ours: 3 },
  ])
})

it('finds a step that only one server made', () => {
  const { steps, unlisted } = compare([], [seen('mail', 'no mail')], [])
  expect([steps, unlisted]).toEqual([
    1,
    [{ at: 'round / subject / mail', path: '', theirs: undefined, ours: 'no mail' }],
  ])
})

it('tells status and code, and nothing else, where the statuses differ', () => {
  const left = [seen('one', { status: 422, body: { error_code: 'weak_password', more: 1 } })]
  const right = [seen('one', { status: 200, body: { id: 'x' } })]
  expect(compare(left, right, []).unlisted).toEqual([
    { at: 'round / subject / one', path: 'status', theirs: '422 weak_password', ours: '200' },
  ])
})

it('does not tell claims apart where the status of their answer differs', () => {
  const claims = (value: Json): Observation => {
    const { at } = seen('one', null)
    return { at: `${at}: claims`, kind: 'claims', value, of: at }
  }
  const answer = (status: number) => seen('one', { status, body: {} })
  const both = (status: number) => compare([answer(200), claims({ a: 1 })], [answer(status), claims({ a: 2 })], [])
  expect([both(200), both(400)].map(({ unlisted }) => unlisted.map(({ path }) => path))).toEqual([['a'], ['status']])
})

it.each([
  ['the same path', entry(), 1],
  ['an alternative', entry({ path: 'x|body.*' }), 0],
  ['another path', entry({ path: 'body' }), 2],
  ['a dot that stands for any letter', entry({ path: 'bodyXa' }), 2],
  ['a value of the old server', entry({ theirs: 1 }), 1],
  ['another value of the old server', entry({ theirs: 2 }), 2],
  ['nothing at ours', entry({ ours: undefined }), 1],
  ['steps of another subject', entry({ at: 'round / other / *' }), 2],
])('accepts what an entry of the list is about: %s', (_name, accepted, left) => {
  expect(compare(theirs, ours, [accepted]).unlisted).toHaveLength(left)
})

it('names an entry of the list where nothing differs any more, unless only some rounds have run', () => {
  const old = entry({ path: 'body.gone' })
  const comparison = compare(theirs, ours, [old, entry()])
  expect(unusedEntries(comparison.uses)).toEqual([old])
  const line = 'on the list, but nothing differs any more: *: body.gone (on purpose)'
  expect(reportLines(comparison, theirs, { isWhole: true })).toContain(line)
  expect(reportLines(comparison, theirs, { isWhole: false })).not.toContain(line)
})

it('refuses two steps of one name', () => {
  expect(() => compare([...theirs, ...theirs], ours, [])).toThrow('two steps are named round / subject / one')
})

it('prints the steps, the differences by subject, and equal differences once', () => {
  const again = [...theirs, seen('two', { status: 200, body: { a: 1, same: [1, 2] } })]
  const alsoOurs = [...ours, seen('two', { status: 200, body: { same: [1, 2] } })]
  expect(reportLines(compare(again, alsoOurs, []), again, { isWhole: true })).toEqual([
    '2 steps (2 of answer, 0 of claims, 0 of mail, 0 of hook)',
    '0 differences on the list, 3 that are not on it',
    '  round / subject: 3 differences, 3 not on the list',
    'body.a',
    '    theirs 1',
    '    ours   (nothing)',
    '    at round / subject / one',
    '    at round / subject / two',
    'body.same.1',
    '    theirs 2',
    '    ours   3',
    '    at round / subject / one',
  ])
})
