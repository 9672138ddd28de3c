import { type Html, html } from '@trestle/common/documents/html.ts'

/** Values by day, drawn as bars. */
export interface DayChart {
  readonly label: string
  /** UTC days in order. */
  readonly days: readonly { readonly date: string; readonly value: number }[]
  readonly tone?: 'bad' | 'second'
  /** Writes a value, such as an amount with its currency. */
  readonly write: (value: number) => string
}

/** The days that a chart shows. */
const DAYS = 30
const DAY_MS = 86_400_000
const WIDTH = 480
const HEIGHT = 96
const GAP = 3

/** The last 30 UTC days in order, the day of `now` last, as `YYYY-MM-DD`. */
export function lastDays(now: Date): readonly string[] {
  return Array.from({ length: DAYS }, (_, at) =>
    new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
}

/** Draws values by day, with their sum and the highest. Readers who do not see bars get the sum, and each day by its title. */
export function dayChart({ label, days, tone, write }: DayChart): Html {
  const sum = days.reduce((total, { value }) => total + value, 0)
  const most = Math.max(...days.map(({ value }) => value), 0)
  const step = WIDTH / days.length
  const bars = days.map(({ date, value }, at) => {
    // A day with little is seen too.
    const height = value <= 0 ? 0 : Math.max(2, (value / most) * HEIGHT)
    return html`<rect class="bar${tone === undefined ? '' : ` ${tone}`}" x="${fixed(at * step)}" y="${fixed(HEIGHT - height)}" width="${fixed(step - GAP)}" height="${fixed(height)}" rx="1.5"><title>${date}: ${write(value)}</title></rect>`
  })
  return html`<figure class="day-chart"><figcaption><span>${label}</span><strong>${write(sum)}</strong></figcaption>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" preserveAspectRatio="none" role="img" aria-label="${label} in the last ${days.length} days: ${write(sum)} in all, ${write(most)} on the highest day"><path class="grid-line" d="M0 ${HEIGHT + 0.5}H${WIDTH}"/>${bars}</svg>
<p class="hint chart-ends"><span>${days[0]?.date}</span><span>${days.at(-1)?.date}</span></p></figure>`
}

function fixed(number: number): string {
  return number.toFixed(2)
}
