import { html } from '@trestle/common/documents/html.ts'
import { describe, expect, it } from 'vitest'
import { plainText } from '../../test/browser.ts'
import { listCard, smallTable } from './list.ts'

describe('listCard', () => {
  it.each([
    ['no row has a button', ['', ''], ['Name']],
    ['one row has a button', ['', 'Retry'], ['Name', 'Actions']],
  ])('shows a column of buttons only where there are some: %s', (_what, rows, expected) => {
    const columns = [
      { label: 'Name', cell: () => 'payout' },
      { label: '', cell: (button: string) => html`${button}` },
    ]
    const list = { label: 'Tasks', path: '/tasks', columns, rows, next: undefined, query: {}, empty: html`none` }
    const { html: written } = listCard(list)
    const heads = [...written.matchAll(/<th [^>]*>(?:<span[^>]*>)?([^<]*)/g)].map(([, label]) => label)
    expect([heads, [...written.matchAll(/<td /g)].length]).toEqual([expected, rows.length * expected.length])
  })

  it.each([
    ['the last page', undefined, 'No task matches. Clear the filters'],
    ['a page before others', 'c2', 'Nothing matches so far. The next page looks further. Clear the filters Next'],
  ])('says of a page without rows whether others may have some: %s', (_what, next, expected) => {
    const list = { label: 'Tasks', path: '/tasks', columns: [], rows: [], next, query: { search: 'x' } }
    expect(plainText(listCard({ ...list, empty: html`No task matches.` }).html)).toBe(expected)
  })
})

describe('smallTable', () => {
  it('gives each value its label for phones, but the first, a state, and buttons', () => {
    const heads = ['Name', { label: 'State', kind: 'state' }, { label: 'Jobs', kind: 'number' }, ''] as const
    const { html } = smallTable('Tasks', heads, [['payout', 'failed', '3', 'Retry']])
    expect(html.slice(html.indexOf('<tbody'))).toBe(
      '<tbody role="rowgroup"><tr role="row"><td role="cell" data-label="Name">payout</td><td role="cell" class="state">failed</td><td role="cell" class="number" data-label="Jobs">3</td><td role="cell" class="fit">Retry</td></tr></tbody></table></div>',
    )
  })

  it('leaves out the column of buttons where no row has one, and keeps it where one has', () => {
    const write = (buttons: readonly string[]) =>
      smallTable(
        'Tasks',
        ['Name', ''],
        buttons.map((button) => ['payout', button]),
      ).html
    const cellsOf = (written: string) => [...written.matchAll(/<t[hd] /g)].length
    expect([write(['', '']), write(['', 'Retry'])].map(cellsOf)).toEqual([3, 6])
  })
})
