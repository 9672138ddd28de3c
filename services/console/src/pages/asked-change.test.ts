import { describe, expect, it } from 'vitest'
import { type Changeable, changeLinks, linkedFields, roleNote, type Viewer } from './asked-change.ts'

const change = (name: string, more: object = {}) => ({
  name,
  action: 'users.ban' as const,
  label: name,
  consequences: () => [],
  call: () => ({ method: 'POST' as const, path: '/' }),
  done: 'done',
  ...more,
})

const changeable: Changeable<undefined> = {
  service: 'auth',
  section: 'users',
  pathOf: () => '/users/1',
  changes: [
    change('delete', { isDangerous: true }),
    change('edit'),
    change('new', { isMain: true }),
    change('never', { isOffered: () => false }),
  ],
}
const viewer: Viewer = { role: 'support', userId: 'ada', now: new Date(0) }

describe('changeLinks', () => {
  const linksFor = (role: Viewer['role']) =>
    changeLinks(changeable, undefined, { ...viewer, role }).map(({ html }) => html)

  it('puts what cannot be undone last, and shows which change a page is for', () => {
    expect(linksFor('support')).toEqual([
      '<a class="button" href="/users/1/edit" data-ask>edit…</a>',
      '<a class="button primary" href="/users/1/new" data-ask>new…</a>',
      '<a class="button danger-quiet" href="/users/1/delete" data-ask>delete…</a>',
    ])
  })

  it('has no link for a role without the right', () => {
    expect(linksFor('viewer')).toEqual([])
  })
})

describe('roleNote', () => {
  const mixed: Changeable<undefined> = {
    ...changeable,
    changes: [
      change('Ban'),
      change('Delete', { action: 'users.delete' }),
      change('End'),
      change('Never', { isOffered: () => false }),
    ],
  }
  const noteFor = (role: Viewer['role']) => roleNote(mixed, undefined, { ...viewer, role })

  it('names the buttons that others have now, and who has them', () => {
    expect([noteFor('viewer'), noteFor('support'), noteFor('admin')]).toEqual([
      'Your role viewer may not use “Ban”, “End”; support and admin may. Your role viewer may not use “Delete”; admin may.',
      'Your role support may not use “Delete”; admin may.',
      undefined,
    ])
  })

  it('says nothing where the object is closed to the operator, whatever the role', () => {
    expect(roleNote({ ...mixed, isOpenTo: () => false }, undefined, { ...viewer, role: 'viewer' })).toBeUndefined()
  })
})

describe('linkedFields', () => {
  const part = { field: 'session', isOf: (ids: readonly string[], id: string) => ids.includes(id) }

  it.each([
    [
      'a part of the object, and nothing else of the link',
      { part },
      { session: 'mine', role: 'admin' },
      { session: 'mine' },
    ],
    ['no part of another object', { part }, { session: 'theirs' }, undefined],
    ['no part where the link names none', { part }, {}, undefined],
    ['nothing of a change of the whole object', {}, { role: 'admin', soft: 'false' }, {}],
  ])('fills in %s', (_what, asked, query, expected) => {
    expect(linkedFields(asked, ['mine'], query)).toEqual(expected)
  })
})
