import { describe, expect, it } from 'vitest'
import { breakable, dayChart, lastDays } from './parts.ts'

const write = (value: number) => `EUR ${value}`

describe('lastDays', () => {
  it('ends with the UTC day of the clock', () => {
    const days = lastDays(new Date('2026-03-01T23:59:59Z'))
    expect([days.length, days[0], days.at(-1)]).toEqual([30, '2026-01-31', '2026-03-01'])
  })
})

describe('breakable', () => {
  it.each([
    ['ada.king@mail.example.com', 'ada.<wbr>king@<wbr>mail.<wbr>example.<wbr>com'],
    ['https://shop.example/hooks/', 'https://<wbr>shop.<wbr>example/<wbr>hooks/'],
    ['user_recovery_requested', 'user_<wbr>recovery_<wbr>requested'],
    ['EUR 1,234.50', 'EUR 1,234.50'],
    ['<b>@x', '&lt;b&gt;@<wbr>x'],
    ['Coffee', 'Coffee'],
    ['', ''],
  ])('lets a narrow page break %j only between its parts', (text, expected) => {
    expect(breakable(text).html).toBe(expected)
  })
})

describe('dayChart', () => {
  it('draws each day in proportion to the highest, and a little where there is little', () => {
    const days = [0, 1, 500, 1000].map((value, at) => ({ date: `2026-01-0${at + 1}`, value }))
    const { html } = dayChart({ label: 'Volume', days, write })
    expect([...html.matchAll(/ height="([\d.]+)" rx/g)].map(([, height]) => height)).toEqual([
      '0.00',
      '2.00',
      '48.00',
      '96.00',
    ])
  })

  it('says the sum and the highest day to readers who see no bars', () => {
    const days = [2, 3].map((value, at) => ({ date: `2026-01-0${at + 1}`, value }))
    expect(dayChart({ label: 'Volume', days, write }).html).toContain(
      'aria-label="Volume in the last 2 days: EUR 5 in all, EUR 3 on the highest day"',
    )
  })

  it('draws nothing for days without values, and no number that is none, and lets the sum stand back', () => {
    const { html } = dayChart({ label: 'Volume', days: [{ date: '2026-01-01', value: 0 }], write })
    expect([html.includes('NaN'), html.startsWith('<figure class="day-chart none">')]).toEqual([false, true])
  })

  it('has no style of its own, which the policy of pages would refuse', () => {
    expect(dayChart({ label: 'A', days: [{ date: '2026-01-01', value: 1 }], write, tone: 'bad' }).html).not.toMatch(
      /style/,
    )
  })
})
