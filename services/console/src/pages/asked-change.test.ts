import { describe, expect, it } from 'vitest'
import { type Changeable, changeLinks, type Viewer } from './asked-change.ts'

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

  it('has no link for a role that may not', () => {
    expect(linksFor('viewer')).toEqual([])
  })
})
