import { describe, expect, it } from 'vitest'
import { smallTable } from './table.ts'

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
